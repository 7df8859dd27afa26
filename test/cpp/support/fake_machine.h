// A segment in plain memory, and processes and agents that are nothing but entries in it: many of
// them share it in one test program.
#ifndef HOLDFAST_TEST_SUPPORT_FAKE_MACHINE_H_
#define HOLDFAST_TEST_SUPPORT_FAKE_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "core/lock_table.h"
#include "segment/resource_name.h"
#include "segment/segment.h"
#include "support/fake_host.h"

namespace holdfast::test {

inline segment::ResourceName NameOf(std::u16string_view units) {
  return {units.data(), static_cast<uint32_t>(units.size())};
}

// 8 cells in an extent, 6 extents: every corner is met soon.
inline constexpr segment::Geometry::Counts kSmallCounts{.shards = 2,
                                                        .processes = 5,
                                                        .agents = 6,
                                                        .buckets_per_shard = 2,
                                                        .extent_bytes = 1024,
                                                        .extents = 6};
inline constexpr uint64_t kFirstToken = segment::kFirstToken + 1000;
inline constexpr platform::BootId kBoot{7};

class FakeMachine {
 public:
  using Image = std::vector<std::byte>;

  explicit FakeMachine(const segment::Geometry& geometry)
      : memory_(new (std::align_val_t{kPage}) std::byte[geometry.capacity]()),
        segment_(memory_.get(), geometry),
        host_(segment_) {
    segment_.Initialize(kBoot, kFirstToken);
  }
  explicit FakeMachine(const segment::Geometry::Counts& counts = kSmallCounts)
      : FakeMachine(segment::Geometry::ForCounts(counts)) {}
  FakeMachine(const segment::Geometry& geometry, const Image& image) : FakeMachine(geometry) {
    Restore(image);
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  segment::Segment& segment() { return segment_; }
  const segment::Segment& segment() const { return segment_; }
  FakeHost& host() { return host_; }
  core::LockTable LockTableOf(segment::ProcessRef process) { return {segment_, host_, process}; }

  // The stores of core/process_slots.cc when a process takes a slot.
  segment::ProcessRef Attach(uint16_t slot) {
    segment::ProcessEntry& entry = segment_.process(slot);
    const uint32_t generation = entry.generation.Get() + 1;
    entry.generation.Publish(generation);
    return {slot, generation};
  }
  // The stores of core/process_slots.cc when an agent takes an entry.
  segment::AgentRef AddAgent(segment::ProcessRef process, uint16_t index) {
    segment::AgentEntry& entry = segment_.agent(index);
    entry.owner.Set(process.ToWord());
    const uint32_t generation = entry.generation.Get() + 1;
    entry.generation.Publish(generation);
    entry.client_id[0].Set(index);
    entry.client_id[1].Set(generation);
    entry.event_head.Exchange(segment::kNoCell);
    entry.sleeping.Exchange(0);
    entry.rescan.Exchange(0);
    return {index, generation, process};
  }
  void Kill(segment::ProcessRef process) { host_.Kill(process); }

  Image TakeImage() const {
    return Image(memory_.get(), memory_.get() + segment_.geometry().capacity);
  }
  void Restore(const Image& image) { std::memcpy(memory_.get(), image.data(), image.size()); }
  std::byte* bytes() { return memory_.get(); }

 private:
  static constexpr size_t kPage = 4096;
  struct Delete {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{kPage});
    }
  };

  std::unique_ptr<std::byte[], Delete> memory_;
  segment::Segment segment_;
  FakeHost host_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_FAKE_MACHINE_H_
