#include "platform/bucket_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "platform/fd.h"
#include "platform/file_lock.h"
#include "platform/file_system.h"
#include "platform/os_error.h"
#include "platform/private_file.h"
#include "platform/segment_draft.h"

namespace holdfast {
inline namespace platform {

namespace {

// The path without an ending that makes the kernel follow a link in its last part ("link/",
// "link/.").
Result<std::string> WithoutTail(const std::string& directory) {
  const size_t end = directory.find_last_not_of('/');
  std::string path = directory.substr(0, end == std::string::npos ? 0 : end + 1);
  if (IsFileName(path.substr(path.rfind('/') + 1)) && path.find('\0') == std::string::npos) {
    return path;
  }
  return Status(StatusCode::kInvalidArgument,
                "the directory of the buckets is not a path that ends in a name");
}

}  // namespace

Result<BucketDirectory> BucketDirectory::Open(const std::string& directory,
                                              const std::string& bucket) {
  const Result<std::string> path = WithoutTail(directory);
  if (!path.ok()) return path.status();
  if (!IsFileName(bucket)) {
    return Status(StatusCode::kInvalidArgument, "the name of the bucket is not a file name");
  }
  const Result<UniqueFd> parent = OpenPrivateDirectory(AT_FDCWD, path->c_str());
  if (!parent.ok()) return parent.status();
  Result<UniqueFd> child = OpenPrivateDirectory(parent->get(), bucket.c_str());
  if (!child.ok()) return child.status();
  const Status file_system = CheckFileSystem(child->get());
  if (!file_system.ok()) return file_system;
  return BucketDirectory(*std::move(child));
}

Status BucketDirectory::Unlink(const std::string& name) const {
  if (!IsFileName(name)) return {StatusCode::kInvalidArgument, "not the name of a file"};
  if (unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return OsError("cannot remove a file of the bucket");
}

namespace {

using SegmentInit = BucketDirectory::SegmentInit;

// Each further attempt means that another process created or removed the file in between.
constexpr int kAttempts = 100;

Status Broken(const char* reason) { return {StatusCode::kSegmentBroken, reason}; }

// Whether a file with this size and these allocated bytes can be a segment.
Status CheckSize(uint64_t size, uint64_t allocated, const SegmentInit& init) {
  if (size == 0) return Broken("the segment file is empty; remove it");
  if (size > kMaxSegmentBytes) return Broken("the segment file is too large; remove it");
  if (size % kSegmentUnitBytes != 0 || init.fixed_bytes(size) > size) {
    return Broken("the segment file was cut off, or is none; remove it");
  }
  if (allocated < init.fixed_bytes(size)) {
    return Broken("the segment file has holes where none belong; remove it");
  }
  return {};
}

Result<SegmentFile> OpenExisting(int directory, const char* name, const SegmentInit& init) {
  Result<PrivateFile> found = OpenPrivateFile(directory, name);
  if (!found.ok()) return found.status();
  const Status checked = CheckSize(found->size, found->allocated, init);
  if (!checked.ok()) return checked;
  Result<SegmentFile> file = SegmentFile::Map(std::move(found->fd), found->size);
  if (!file.ok()) return file;
  // Fills every hole in the fixed part; without holes this does nothing.
  const Status allocated = file->Allocate(0, init.fixed_bytes(file->size()));
  if (!allocated.ok()) return allocated;
  return file;
}

Result<SegmentFile> Create(int directory, const char* name, const SegmentInit& init) {
  SegmentDraft::RemoveAbandoned(directory, name);
  Result<SegmentDraft> draft = SegmentDraft::Create(directory, name);
  if (!draft.ok()) return draft.status();
  Result<SegmentFile> file = draft->Fill(init);
  if (!file.ok()) return file;
  const Status published = draft->Publish(*file, name);
  if (!published.ok()) return published;
  return file;
}

}  // namespace

Result<SegmentFile> BucketDirectory::OpenSegment(const char* name, const SegmentInit& init) const {
  const uint64_t capacity = init.capacity;
  if (!IsFileName(name) || capacity == 0 || capacity > kMaxSegmentBytes ||
      capacity % kSegmentUnitBytes != 0 || init.fixed_bytes(capacity) > capacity) {
    return Status(StatusCode::kInvalidArgument, "no segment can have this name and capacity");
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<SegmentFile> file = OpenExisting(fd(), name, init);
    if (file.ok() || file.status().code() != StatusCode::kClosed) return file;
    file = Create(fd(), name, init);
    if (file.ok() || file.status().code() != StatusCode::kBusy) return file;
  }
  return Status(StatusCode::kBusy, "the segment file is created and removed again and again");
}

// Removes a segment file that no process uses.

namespace {

// Another process is about to remove the file, too, and may be taken off its processor meanwhile:
// on a full machine for tens of milliseconds. A stopped process is not waited for much longer.
constexpr int kTurns = 1000;
constexpr timespec kTurn{.tv_sec = 0, .tv_nsec = 1'000'000};

}  // namespace

// A process that has a slot prevents this lock of the file. A process that locks a slot later does
// not stay: before its first request it checks whether the file still has its name. The lock shows
// the difference: a process that removes the file locks the whole file, not a slot.
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
