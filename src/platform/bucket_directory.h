// The directory of a bucket: the one place where the processes of a user meet.
//
// Whoever can write here can do everything to the bucket, so it is opened without trusting what is
// found, and refused with the reason rather than replaced by another place.
#ifndef HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_
#define HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

class BucketDirectory {
 public:
  // How a new segment file is made and an old one is judged.
  struct SegmentInit {
    // Of a new file, in bytes: a multiple of kSegmentUnitBytes, at most kMaxSegmentBytes.
    uint64_t capacity;
    // The leading bytes, at least one, that every segment of `size` bytes has allocated from the
    // beginning. More than `size` when no segment has that size; the file is then refused.
    uint64_t (*fixed_bytes)(uint64_t size);
    // Fills a new segment: zeroed, of which only the fixed bytes may be touched.
    void (*initialize)(void* base, uint64_t size);
  };

  // Makes (mode 0700) and opens `directory`, then `bucket` in it. Both have to be directories, not
  // links to some, of the effective user, without rights for group and others.
  // `bucket`: one file name. Only the last part of `directory` is made.
  // kNoAccess with what was found; kInvalidArgument: no usable name.
  static Result<BucketDirectory> Open(const std::string& directory, const std::string& bucket);

  int fd() const { return fd_.get(); }

  // Opens the file `name`, or creates it when there is none. Others see a created file complete or
  // not at all; nobody waits for anybody, and when two create, both get the same one.
  // Requires a regular file of the effective user, mode 0600, one link, a possible size, its fixed
  // bytes allocated: else kNoAccess or kSegmentBroken. kNoSpace: no room for the fixed bytes.
  // kClosed: the directory itself has been removed.
  Result<SegmentFile> OpenSegment(const char* name, const SegmentInit& init) const;

  // Removes the file `name`; that there is none is fine.
  Status Unlink(const std::string& name) const;

 private:
  explicit BucketDirectory(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_
