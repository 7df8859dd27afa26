#include "platform/segment_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

static_assert(sizeof(void*) == 8 && sizeof(off_t) == 8, "a segment may not fit otherwise");

// The size of one allocation: older kernels undo a whole allocation at a signal, so frequent
// signals could keep a large one from ever finishing.
constexpr uint64_t kAllocationSlice = uint64_t{1} << 20;

}  // namespace

Result<SegmentFile> SegmentFile::Map(UniqueFd fd, uint64_t size) {
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return OsError("cannot map the segment file");
  return SegmentFile(std::move(fd), base, size);
}

SegmentFile::SegmentFile(UniqueFd fd, void* base, uint64_t size)
    : fd_(std::move(fd)), base_(base), size_(size) {}

SegmentFile::SegmentFile(SegmentFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SegmentFile& SegmentFile::operator=(SegmentFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  fd_ = std::move(other.fd_);
  base_ = std::exchange(other.base_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

SegmentFile::~SegmentFile() { Unmap(); }

void SegmentFile::Unmap() {
  if (base_ != nullptr) munmap(base_, size_);
}

// Not posix_fallocate: if the file system has no fallocate, it writes to each block, and could
// overwrite concurrent stores of peers.
Status SegmentFile::Allocate(uint64_t offset, uint64_t length) {
  if (length == 0 || length > size_ || offset > size_ - length) {
    return {StatusCode::kInvalidArgument, "the range to allocate is not inside the segment"};
  }
  // The program has closed the descriptor; its number may now be a file that must not be written.
  // Not IsIntact(): if the system does not answer, no room would be taken for missing memory.
  if (FileIdOf(fd_.get()) != fd_.id()) {
    return {StatusCode::kDisconnected, "the descriptor of the lock table was closed"};
  }
  const uint64_t end = offset + length;
  while (offset < end) {
    const uint64_t slice = std::min(end - offset, kAllocationSlice);
    const int done = RetryOnEintr([&] {
      return fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(slice));
    });
    if (done == -1 && errno == EOPNOTSUPP) {
      return {StatusCode::kOsError,
              "the file system of the bucket cannot reserve space; choose a directory on tmpfs",
              EOPNOTSUPP};
    }
    if (done == -1) return OsError("cannot reserve space for the segment");
    offset += slice;
  }
  return {};
}

Result<bool> SegmentFile::IsAt(const std::string& path) const {
  struct stat found {};
  if (lstat(path.c_str(), &found) == -1) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return OsError("cannot examine the place of the segment file");
  }
  return FileId{found.st_dev, found.st_ino} == fd_.id();
}

}  // namespace platform
}  // namespace holdfast
