// A segment file in the making, under a name of its own until it is complete.
#ifndef HOLDFAST_PLATFORM_LINUX_SEGMENT_DRAFT_H_
#define HOLDFAST_PLATFORM_LINUX_SEGMENT_DRAFT_H_

#include <string>

#include "platform/bucket_directory.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// The file "<name>.new-<random>". Its maker has byte 0 locked while it lives, so a draft whose byte
// is free was left behind by a process that died.
class SegmentDraft {
 public:
  // Removes the drafts of `name` that nobody is working on.
  static void RemoveAbandoned(int directory, const char* name);
  // kBusy: somebody took it for abandoned before it could be locked; try again.
  static Result<SegmentDraft> Create(int directory, const char* name);
  SegmentDraft(SegmentDraft&& other) noexcept;
  SegmentDraft(const SegmentDraft&) = delete;
  SegmentDraft& operator=(const SegmentDraft&) = delete;
  SegmentDraft& operator=(SegmentDraft&&) = delete;
  // Removes the file unless it was published.
  ~SegmentDraft();

  // Gives the file its size, its fixed part and its contents. Once.
  Result<SegmentFile> Fill(const BucketDirectory::SegmentInit& init);
  // Gives the filled `file` its name, unless another has it. kBusy: another has it, or the draft
  // was taken for abandoned; see what is there now.
  Status Publish(const SegmentFile& file, const char* name);

 private:
  SegmentDraft(int directory, std::string draft_name, UniqueFd fd)
      : directory_(directory), draft_name_(std::move(draft_name)), fd_(std::move(fd)) {}

  int directory_;
  std::string draft_name_;  // empty: there is no such file any more
  UniqueFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_LINUX_SEGMENT_DRAFT_H_
