// The directory of a bucket: the only directory in which the processes of a user, or of a group,
// meet.
//
// A process that can write here controls the bucket. So the directory is opened without trusting
// its contents, and rejected with a reason; another directory never replaces it.
#ifndef HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_
#define HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "platform/access.h"
#include "platform/fd.h"
#include "platform/known_fd.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/status.h"

namespace holdfast {
inline namespace platform {

class BucketDirectory {
 public:
  // How a new segment file is created and an existing one is checked.
  struct SegmentInit {
    // The size of a new file in bytes: a multiple of kSegmentUnitBytes, at most kMaxSegmentBytes.
    uint64_t capacity;
    // Returns how many leading bytes, at least one, are always allocated in a segment of `size`
    // bytes. More than `size`: no segment has that size, and the file is rejected.
    uint64_t (*fixed_bytes)(uint64_t size);
    // Whether an existing file, by its first unit, has another layout: its sizes are not checked.
    bool (*has_other_layout)(const void* base);
    // Fills a new segment: zeroed, of which only the fixed bytes may be touched.
    void (*initialize)(void* base, uint64_t size);
  };

  // Makes (mode 0700) and opens `directory`, then `bucket` in it. Both must be directories, not
  // links, of the same access (access.h). `bucket`: one file name. Only the last part of
  // `directory` is created. kNoAccess: with what was found instead. kInvalidArgument: not a usable
  // name.
  static Result<BucketDirectory> Open(const std::string& directory, const std::string& bucket,
                                      Users users = Users::kOneUserOrGroup);

  int fd() const { return fd_.get(); }
  const Access& access() const { return access_; }

  // Opens the file `name`, or creates it. Peers see a created file complete or not at all.
  // Processes do not wait for each other; if two create it, both get the same file. Requires a
  // regular file with the access of the directory, one link, a possible size, its fixed bytes
  // allocated, or another layout: else kNoAccess or kSegmentBroken. kNoSpace: no room for the fixed
  // bytes. kClosed: the directory itself has been removed.
  Result<SegmentFile> OpenSegment(const char* name, const SegmentInit& init) const;

  // Removes the file `name` if it is still `file` and no process has a SlotLock on it. False: a
  // process has such a lock. A process that has opened the file and locks a slot later finds it
  // removed. Keeps the other processes out for as long as `file` lives. Waits at most a second for
  // another process that is removing the file; then false, too.
  Result<bool> RemoveUnused(const char* name, const SegmentFile& file) const;

  // Removes the file `name`, if there is one.
  Status Unlink(const std::string& name) const;

 private:
  BucketDirectory(UniqueFd fd, const Access& access) : fd_(std::move(fd)), access_(access) {}

  KnownFd fd_;
  Access access_;
};

// A segment file under construction: the file "<name>.new-<random>". Its creator keeps byte 0
// locked, so a draft whose byte is free was abandoned by a process that died.
class SegmentDraft {
 public:
  // Removes abandoned drafts of `name`.
  static void RemoveAbandoned(int directory, const char* name);
  // kBusy: another process took it for abandoned before it was locked; try again.
  static Result<SegmentDraft> Create(const BucketDirectory& directory, const char* name);
  SegmentDraft(SegmentDraft&& other) noexcept;
  SegmentDraft(const SegmentDraft&) = delete;
  SegmentDraft& operator=(const SegmentDraft&) = delete;
  SegmentDraft& operator=(SegmentDraft&&) = delete;
  // Removes the file unless it was published.
  ~SegmentDraft();

  // Gives the file its size, its fixed part and its contents. Once.
  Result<SegmentFile> Fill(const BucketDirectory::SegmentInit& init);
  // Gives the filled `file` its name, unless that is taken. kBusy: the name is taken, or the draft
  // was removed as abandoned; open the existing file.
  Status Publish(const SegmentFile& file, const char* name);

 private:
  SegmentDraft(int directory, std::string draft_name, UniqueFd fd)
      : directory_(directory), draft_name_(std::move(draft_name)), fd_(std::move(fd)) {}

  int directory_;
  std::string draft_name_;  // empty: the draft no longer exists
  UniqueFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_BUCKET_DIRECTORY_H_
