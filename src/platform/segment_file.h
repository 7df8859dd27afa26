// The file of a segment, mapped as a whole and shared, for as long as the object lives.
//
// The file is sparse: only allocated bytes may be touched. So a full file system is a Status and
// never a SIGBUS.
#ifndef HOLDFAST_PLATFORM_SEGMENT_FILE_H_
#define HOLDFAST_PLATFORM_SEGMENT_FILE_H_

#include <cstdint>
#include <string>

#include "platform/fd.h"
#include "platform/known_fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

inline constexpr uint64_t kSegmentUnitBytes = 4096;  // sizes are multiples of it
inline constexpr uint64_t kMaxSegmentBytes = uint64_t{16} << 30;

class SegmentFile {
 public:
  // Maps the first `size` bytes of `fd`, the whole file.
  static Result<SegmentFile> Map(UniqueFd fd, uint64_t size);
  SegmentFile(SegmentFile&& other) noexcept;
  SegmentFile& operator=(SegmentFile&& other) noexcept;
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;
  ~SegmentFile();

  void* base() const { return base_; }
  uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  const FileId& id() const { return fd_.id(); }

  // Allocates these bytes; allocated ones keep their contents. Any thread. kNoSpace: the file
  // system is full; the beginning of the range may be allocated. kInvalidArgument: not inside the
  // file. kDisconnected: the descriptor now belongs to another file.
  Status Allocate(uint64_t offset, uint64_t length);
  // Whether `path` still leads to this file: false once it, or a directory above it, has been
  // removed, moved away or replaced. New processes would open another file.
  Result<bool> IsAt(const std::string& path) const;

 private:
  SegmentFile(UniqueFd fd, void* base, uint64_t size);
  void Unmap();

  KnownFd fd_;
  void* base_;
  uint64_t size_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SEGMENT_FILE_H_
