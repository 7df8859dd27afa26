// A segment file under construction; it has a temporary name until it is complete.
#ifndef HOLDFAST_PLATFORM_SEGMENT_DRAFT_H_
#define HOLDFAST_PLATFORM_SEGMENT_DRAFT_H_

#include <string>

#include "platform/bucket_directory.h"
#include "platform/fd.h"
#include "platform/result.h"
#include "platform/segment_file.h"

namespace holdfast {
inline namespace platform {

// The file "<name>.new-<random>". Its creator keeps byte 0 locked, so a draft whose byte is free
// was abandoned by a process that died.
class SegmentDraft {
 public:
  // Removes abandoned drafts of `name`.
  static void RemoveAbandoned(int directory, const char* name);
  // kBusy: another process took it for abandoned before it was locked; try again.
  static Result<SegmentDraft> Create(int directory, const char* name);
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

#endif  // HOLDFAST_PLATFORM_SEGMENT_DRAFT_H_
