// The truth about who is alive: every process keeps a lock on its slot's byte of the segment file,
// and the kernel drops it when the process ends, however it ends.
//
// The locks belong to an open file description, so neither an unrelated close() nor a process id
// that is used again can confuse them, and two users of one process exclude each other too.
// A process's descriptors are closed from the highest number down when it ends. This one is moved
// above the lifeline, so that the slot is free by the time when that breaks; otherwise its peers
// ask twice.
#ifndef HOLDFAST_PLATFORM_SLOT_LOCK_H_
#define HOLDFAST_PLATFORM_SLOT_LOCK_H_

#include <cstdint>

#include "platform/bucket_directory.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

inline constexpr uint64_t kSlotLockBase = uint64_t{1} << 40;  // far behind the data

class SlotLock {
 public:
  // Opens the segment file `name` once more, for the locks alone.
  // kClosed: there is no such file; kNoAccess: it is not one of ours.
  static Result<SlotLock> Open(const BucketDirectory& directory, const char* name);

  int fd() const { return fd_.get(); }
  // Takes a number above `fd`; where there is none left, it keeps its own.
  void MoveAbove(int fd);
  // Whether this is the same file as the mapped one. False: the file was replaced in between.
  Result<bool> Matches(const SegmentFile& file) const;

  // Takes the slot; false: somebody has it. Taking one's own slot again succeeds.
  Result<bool> TryClaim(uint32_t slot) const;
  // Whether somebody else has the slot: one's own claim does not count.
  Result<bool> IsClaimed(uint32_t slot) const;
  void Unclaim(uint32_t slot) const;

 private:
  explicit SlotLock(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SLOT_LOCK_H_
