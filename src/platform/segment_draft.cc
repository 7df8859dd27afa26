#include "platform/segment_draft.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>

#include "platform/file_lock.h"
#include "platform/os_error.h"
#include "platform/suppressed_signal.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr uint64_t kDraftLockByte = 0;
constexpr mode_t kFileMode = S_IRUSR | S_IWUSR;

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

Result<std::string> RandomHex() {
  std::array<unsigned char, 8> bytes{};
  if (RetryOnEintr([&] { return getrandom(bytes.data(), bytes.size(), 0); }) == -1) {
    return OsError("cannot get random bytes");
  }
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
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

Result<SegmentDraft> SegmentDraft::Create(int directory, const char* name) {
  const Result<std::string> suffix = RandomHex();
  if (!suffix.ok()) return suffix.status();
  std::string draft_name = DraftPrefix(name) + *suffix;
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, draft_name.c_str(),
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, kFileMode);
  }));
  if (!fd && errno == ENOENT) {
    return Status(StatusCode::kClosed, "the bucket directory has been removed; open it again",
                  ENOENT);
  }
  if (!fd) return OsError("cannot create a file in the bucket directory");
  SegmentDraft draft(directory, std::move(draft_name), std::move(fd));
  const Result<bool> locked = TryLockByte(draft.fd_.get(), kDraftLockByte);
  if (!locked.ok()) return locked.status();
  if (!*locked) return Status(StatusCode::kBusy, "the new segment file was taken for abandoned");
  // Restores permissions that the umask has removed.
  if (fchmod(draft.fd_.get(), kFileMode) == -1)
    return OsError("cannot set the segment file's mode");
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

}  // namespace platform
}  // namespace holdfast
