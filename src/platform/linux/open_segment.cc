#include <utility>

#include "platform/bucket_directory.h"
#include "platform/linux/segment_draft.h"
#include "platform/posix/file_name.h"
#include "platform/posix/private_file.h"

namespace holdfast {
inline namespace platform {
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

}  // namespace platform
}  // namespace holdfast
