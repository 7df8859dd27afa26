// The proof of life: every process keeps a lock on its slot's byte of the segment file. The kernel
// drops the lock when the process ends, however it ends.
//
// The locks belong to an open file description, so neither an unrelated close() nor a reused
// process id can confuse them. Two users in one process exclude each other, too. A process's
// descriptors are closed from the highest number down when it ends. This one is moved above the
// lifeline, so that the slot is free when the lifeline reports the death. Otherwise peers would
// have to check twice.
//
// The program may close this descriptor by mistake, and open another file under its number. The
// claims stay (DescriptionPin), and IsIntact() detects it.
#ifndef HOLDFAST_PLATFORM_SLOT_LOCK_H_
#define HOLDFAST_PLATFORM_SLOT_LOCK_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "platform/bucket_directory.h"
#include "platform/fd.h"
#include "platform/file_lock.h"
#include "platform/known_fd.h"
#include "platform/result.h"
#include "platform/segment_file.h"

namespace holdfast {
inline namespace platform {

inline constexpr uint64_t kSlotLockBase = uint64_t{1} << 40;  // far behind the data

class SlotLock {
 public:
  // Opens the segment file `name` once more, for the locks alone. kClosed: there is no such file;
  // kNoAccess: it has not the access of the directory.
  static Result<SlotLock> Open(const BucketDirectory& directory, const char* name);

  int fd() const { return fd_.get(); }
  // Takes a number above `fd`; keeps its own if there is none left.
  void MoveAbove(int fd);
  // Whether this is the same file as the mapped one. False: the file was replaced in between.
  Result<bool> Matches(const SegmentFile& file) const;

  // Takes the slot; false: it is taken. Taking the own slot again succeeds.
  Result<bool> TryClaim(uint32_t slot) const;
  // Whether another description has the slot; the own claim does not count.
  Result<bool> IsClaimed(uint32_t slot) const;
  void Unclaim(uint32_t slot) const;

  // From now on the claims outlive the descriptor, up to the end of this object or the process.
  Status Keep();
  // Whether the descriptor still belongs to this object, which has claimed `slot`. Otherwise it was
  // closed, and answers of IsClaimed() mean nothing.
  bool IsIntact(uint32_t slot) const;
  // Forgets the descriptor without closing it: its number belongs to another file now.
  void Abandon() { (void)fd_.release(); }

 private:
  explicit SlotLock(UniqueFd fd) : fd_(std::move(fd)) {}

  KnownFd fd_;
  std::optional<DescriptionPin> pin_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SLOT_LOCK_H_
