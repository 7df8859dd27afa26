// The truth about who is alive: every process keeps a lock on its slot's byte of the segment file,
// and the kernel drops it when the process ends, however it ends.
//
// The locks belong to an open file description, so neither an unrelated close() nor a process id
// that is used again can confuse them, and two users of one process exclude each other too.
// A process's descriptors are closed from the highest number down when it ends. This one is moved
// above the lifeline, so that the slot is free by the time when that breaks; otherwise its peers
// ask twice.
//
// The program may close this descriptor by mistake, and open something else under its number. The
// claims stay (file_keeper.h), and IsIntact() finds out.
#ifndef HOLDFAST_PLATFORM_SLOT_LOCK_H_
#define HOLDFAST_PLATFORM_SLOT_LOCK_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "platform/bucket_directory.h"
#include "platform/file_id.h"
#include "platform/file_keeper.h"
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

  // From now on the claims outlive the descriptor, up to the end of this object or the process.
  Status Keep();
  // Whether the descriptor is still this object's, which has claimed `slot`. Otherwise it was
  // closed, and what IsClaimed() answers says nothing.
  bool IsIntact(uint32_t slot) const;
  // Leaves the descriptor to whoever has opened its number.
  void Abandon() { (void)fd_.release(); }

 private:
  explicit SlotLock(UniqueFd fd, FileId id = {}) : fd_(std::move(fd)), id_(id) {}

  UniqueFd fd_;
  FileId id_;
  std::optional<FileKeeper> keeper_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SLOT_LOCK_H_
