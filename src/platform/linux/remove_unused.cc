// Removes a segment file that no process uses.
#include <sched.h>

#include "platform/bucket_directory.h"
#include "platform/file_id.h"
#include "platform/linux/byte_lock.h"
#include "platform/posix/private_file.h"

namespace holdfast {
inline namespace platform {
namespace {

// Each further turn means that another process is about to remove the file, too.
constexpr int kTurns = 100;

}  // namespace

// A process that has a slot keeps this one from locking the file, and no process that locks a slot
// afterwards stays: it looks whether the file is still in its place before its first request. Two
// that would remove the file are told apart from that by what they lock.
Result<bool> BucketDirectory::RemoveUnused(const char* name, const SegmentFile& file) const {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Result<WholeLock> lock = TryLockWhole(file.fd());
    if (!lock.ok()) return lock.status();
    if (*lock == WholeLock::kPart) return false;
    const Result<PrivateFile> found = OpenPrivateFile(fd(), name);
    if (!found.ok() && found.status().code() != StatusCode::kClosed) return found.status();
    if (!found.ok() || FileIdOf(found->fd.get()) != file.id()) return true;
    if (*lock == WholeLock::kTaken) {
      const Status removed = Unlink(name);
      if (!removed.ok()) return removed;
      return true;
    }
    sched_yield();
  }
  return false;
}

}  // namespace platform
}  // namespace holdfast
