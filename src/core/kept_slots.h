// The records that an agent keeps (segment/kept_record.h): at most kMax, each in a separate slot.
#ifndef HOLDFAST_CORE_KEPT_SLOTS_H_
#define HOLDFAST_CORE_KEPT_SLOTS_H_

#include <array>
#include <cstdint>

namespace holdfast::core {

// Notified that a slot becomes free, before its record is freed.
class KeptObserver {
 public:
  virtual void OnKeptFreed(uint32_t slot) = 0;

 protected:
  ~KeptObserver() = default;
};

// Owned by one agent; used only on its thread.
class KeptSlots {
 public:
  // Few, because each uses two cells of a table that others share.
  static constexpr uint32_t kMax = 8;
  static constexpr uint32_t kNone = UINT32_MAX;

  KeptSlots() { ids_.fill(kNone); }

  void SetObserver(KeptObserver* observer) { observer_ = observer; }

  // The slot of a request; kNone: it is in none.
  uint32_t SlotOf(uint32_t id) const {
    for (uint32_t slot = 0; slot < kMax; ++slot) {
      if (ids_[slot] == id) return slot;
    }
    return kNone;
  }
  // kNone: the slot is free.
  uint32_t IdOf(uint32_t slot) const { return ids_[slot]; }
  bool HasRoom() const { return SlotOf(kNone) != kNone; }
  // The slot of a request that is kept from now on, also if it was before. REQUIRES: HasRoom().
  uint32_t Add(uint32_t id, uint64_t token) {
    const uint32_t known = SlotOf(id);
    const uint32_t slot = known == kNone ? SlotOf(kNone) : known;
    ids_[slot] = id;
    tokens_[slot] = token;
    return slot;
  }
  // Before the record is freed. No effect if it is in no slot.
  void Free(uint32_t id) {
    const uint32_t slot = SlotOf(id);
    if (slot == kNone) return;
    ids_[slot] = kNone;
    if (observer_ != nullptr) observer_->OnKeptFreed(slot);
  }
  // Whether the record has not been taken since the last call. `token`: of its last hold.
  bool IsIdle(uint32_t slot, uint64_t token) {
    const bool is_idle = tokens_[slot] == token;
    tokens_[slot] = token;
    return is_idle;
  }

 private:
  std::array<uint32_t, kMax> ids_{};
  std::array<uint64_t, kMax> tokens_{};  // of the last hold, at the last check
  KeptObserver* observer_ = nullptr;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_KEPT_SLOTS_H_
