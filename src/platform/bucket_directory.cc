#include "platform/bucket_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "platform/access.h"
#include "platform/clock.h"
#include "platform/fd.h"
#include "platform/file_lock.h"
#include "platform/os_error.h"
#include "platform/suppressed_signal.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr uint64_t kDraftLockByte = 0;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

DirectoryStream OpenStream(int directory) {
  // A separate description, because reading moves its position.
  UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryStream stream(fdopendir(fd.get()));
  if (stream != nullptr) static_cast<void>(fd.release());
  return stream;
}

std::string DraftPrefix(const char* name) { return std::string(name) + ".new-"; }

// Whether a draft was left behind. A file that cannot be opened is left alone.
bool IsAbandoned(int directory, const char* draft) {
  const UniqueFd fd(
      openat(directory, draft, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return false;
  const Result<bool> locked = TryLockByte(fd.get(), kDraftLockByte);
  return locked.ok() && *locked;
}

Status Resize(int fd, uint64_t size) {
  const SuppressedSignal no_signal(SIGXFSZ);
  if (RetryOnEintr([&] { return ftruncate(fd, static_cast<off_t>(size)); }) == 0) return {};
  const int error = errno;
  if (error == EFBIG) no_signal.Consume();
  return OsError("cannot give the segment file its size", error);
}

}  // namespace

void SegmentDraft::RemoveAbandoned(int directory, const char* name) {
  const DirectoryStream stream = OpenStream(directory);
  if (stream == nullptr) return;
  const std::string prefix = DraftPrefix(name);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is of this call alone
  while (const dirent* const entry = readdir(stream.get())) {
    const char* const draft = entry->d_name;
    if (!std::string_view(draft).starts_with(prefix)) continue;
    // If its creator publishes it just now, the draft's name is already gone.
    if (IsAbandoned(directory, draft)) unlinkat(directory, draft, 0);
  }
}

Result<SegmentDraft> SegmentDraft::Create(const BucketDirectory& directory, const char* name) {
  const mode_t mode = directory.access().file_mode();
  std::string draft_name = DraftPrefix(name) + std::to_string(RandomWord());
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory.fd(), draft_name.c_str(),
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode);
  }));
  if (!fd && errno == ENOENT) {
    return Status(StatusCode::kClosed, "the bucket directory has been removed; open it again",
                  ENOENT);
  }
  if (!fd) return OsError("cannot create a file in the bucket directory");
  SegmentDraft draft(directory.fd(), std::move(draft_name), std::move(fd));
  const Result<bool> locked = TryLockByte(draft.fd_.get(), kDraftLockByte);
  if (!locked.ok()) return locked.status();
  if (!*locked) return Status(StatusCode::kBusy, "the new segment file was taken for abandoned");
  // Restores permissions that the umask has removed.
  if (fchmod(draft.fd_.get(), mode) == -1) return OsError("cannot set the segment file's mode");
  return draft;
}

SegmentDraft::SegmentDraft(SegmentDraft&& other) noexcept
    : directory_(other.directory_),
      draft_name_(std::exchange(other.draft_name_, {})),
      fd_(std::move(other.fd_)) {}

SegmentDraft::~SegmentDraft() {
  if (!draft_name_.empty()) unlinkat(directory_, draft_name_.c_str(), 0);
}

Result<SegmentFile> SegmentDraft::Fill(const BucketDirectory::SegmentInit& init) {
  const Status resized = Resize(fd_.get(), init.capacity);
  if (!resized.ok()) return resized;
  Result<SegmentFile> file = SegmentFile::Map(std::move(fd_), init.capacity);
  if (!file.ok()) return file;
  const Status allocated = file->Allocate(0, init.fixed_bytes(init.capacity));
  if (!allocated.ok()) return allocated;
  init.initialize(file->base(), file->size());
  return file;
}

Status SegmentDraft::Publish(const SegmentFile& file, const char* name) {
  // By number: musl has no function for it.
  const long done =
      syscall(SYS_renameat2, directory_, draft_name_.c_str(), directory_, name, RENAME_NOREPLACE);
  if (done == 0) {
    draft_name_.clear();
    UnlockByte(file.fd(), kDraftLockByte);
    return {};
  }
  if (errno == EEXIST || errno == ENOENT) {
    return {StatusCode::kBusy, "another process was faster to create the segment file", errno};
  }
  if (errno == EINVAL || errno == ENOSYS) {
    return {StatusCode::kOsError,
            "the file system of the bucket cannot rename without replacing; choose a directory on "
            "tmpfs",
            errno};
  }
  return OsError("cannot name the new segment file");
}

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
                                              const std::string& bucket, Users users) {
  const Result<std::string> path = WithoutTail(directory);
  if (!path.ok()) return path.status();
  if (!IsFileName(bucket)) {
    return Status(StatusCode::kInvalidArgument, "the name of the bucket is not a file name");
  }
  const Result<OpenedDirectory> parent = OpenDirectory(path->c_str(), users);
  if (!parent.ok()) return parent.status();
  Result<UniqueFd> child = OpenSubdirectory(*parent, bucket.c_str());
  if (!child.ok()) return child.status();
  return BucketDirectory(*std::move(child), parent->access);
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

Status CutOff() { return Broken("the segment file was cut off, or is none; remove it"); }

// Whether a file with this size can be a segment of any layout.
Status CheckSize(uint64_t size) {
  if (size == 0) return Broken("the segment file is empty; remove it");
  if (size > kMaxSegmentBytes) return Broken("the segment file is too large; remove it");
  return size % kSegmentUnitBytes == 0 ? Status() : CutOff();
}

// Whether a file with this size and these allocated bytes can be a segment of this layout.
Status CheckFixedPart(uint64_t size, uint64_t allocated, const SegmentInit& init) {
  if (init.fixed_bytes(size) > size) return CutOff();
  if (allocated < init.fixed_bytes(size)) {
    return Broken("the segment file has holes where none belong; remove it");
  }
  return {};
}

// Reads the file without memory for it: a file that is refused stays as it is.
bool HasOtherLayout(int fd, const SegmentInit& init) {
  alignas(std::max_align_t) std::array<char, kSegmentUnitBytes> unit{};
  const ssize_t length = RetryOnEintr([&] { return pread(fd, unit.data(), unit.size(), 0); });
  return length == ssize_t{unit.size()} && init.has_other_layout(unit.data());
}

Result<SegmentFile> OpenExisting(const BucketDirectory& directory, const char* name,
                                 const SegmentInit& init) {
  Result<OpenedFile> found = OpenFile(directory.fd(), name, directory.access());
  if (!found.ok()) return found.status();
  Status checked = CheckSize(found->size);
  if (!checked.ok()) return checked;
  const bool is_other = HasOtherLayout(found->fd.get(), init);
  if (!is_other) checked = CheckFixedPart(found->size, found->allocated, init);
  if (!checked.ok()) return checked;
  Result<SegmentFile> file = SegmentFile::Map(std::move(found->fd), found->size);
  if (!file.ok() || is_other) return file;
  // Fills every hole in the fixed part; without holes this does nothing.
  const Status allocated = file->Allocate(0, init.fixed_bytes(file->size()));
  if (!allocated.ok()) return allocated;
  return file;
}

Result<SegmentFile> Create(const BucketDirectory& directory, const char* name,
                           const SegmentInit& init) {
  SegmentDraft::RemoveAbandoned(directory.fd(), name);
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
    Result<SegmentFile> file = OpenExisting(*this, name, init);
    if (file.ok() || file.status().code() != StatusCode::kClosed) return file;
    file = Create(*this, name, init);
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
    const Result<OpenedFile> found = OpenFile(fd(), name, access_);
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
