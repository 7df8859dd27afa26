// Copies of requests with all their details, made inside a shard without allocating: the time for
// which peers wait is bounded by the room here.
#ifndef HOLDFAST_CORE_RECORD_COPIES_H_
#define HOLDFAST_CORE_RECORD_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/lock_manager.h"
#include "core/snapshot.h"
#include "segment/shard_view.h"

namespace holdfast::core {

struct RecordCopy {
  RecordRef record;
  segment::ProcessRef process;
  uint32_t name_length = 0;  // `info.name` has the first units of it
  LockInfo info;
};

class RecordCopies {
 public:
  RecordCopies(LockManager& manager, size_t max);

  void Clear() { count_ = 0; }
  bool IsFull() const { return count_ == copies_.size(); }
  // REQUIRES: inside the shard, and not full.
  void Add(const segment::ShardView& shard, segment::CellId id,
           const segment::RequestCell& request);

  size_t size() const { return count_; }
  // Outside of the shard: adds the whole name; a long one needs another visit. False: the request
  // has ended, or the shard could not be entered in time.
  bool Complete(size_t index, uint64_t timeout_ns);
  const RecordCopy& operator[](size_t index) const { return copies_[index]; }

 private:
  void ReadShown(const segment::RequestCell& request, LockInfo& info) const;
  bool ReadLongName(const RecordRef& record, std::u16string& name, uint64_t timeout_ns);

  LockManager& manager_;
  std::vector<RecordCopy> copies_;  // each with room for the texts
  size_t count_ = 0;
};

// At most `max` holders of a name, the oldest first; dead ones, too.
Result<std::vector<RecordCopy>> HoldersOf(LockManager& manager, const segment::ResourceName& name,
                                          uint32_t max, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_RECORD_COPIES_H_
