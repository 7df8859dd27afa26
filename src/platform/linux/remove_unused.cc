// Removes a segment file that no process uses.
#include <ctime>

#include "platform/bucket_directory.h"
#include "platform/file_id.h"
#include "platform/linux/byte_lock.h"
#include "platform/posix/private_file.h"

namespace holdfast {
inline namespace platform {
namespace {

// Another process is about to remove the file, too, and may be taken off its processor meanwhile:
// on a full machine for tens of milliseconds. One that is stopped is not waited for much longer.
constexpr int kTurns = 1000;
constexpr timespec kTurn{.tv_sec = 0, .tv_nsec = 1'000'000};

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
    (void)nanosleep(&kTurn, nullptr);
  }
  return false;
}

}  // namespace platform
}  // namespace holdfast
