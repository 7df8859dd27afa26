#include "platform/file_keeper.h"

#include <sys/mman.h>

#include "platform/posix/os_error.h"
#include "platform/process_identity.h"

namespace holdfast {
inline namespace platform {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

// A mapping keeps the description open, as a descriptor does. The page has no access rights.
Result<FileKeeper> FileKeeper::Keep(int fd) {
  void* const page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return OsError("cannot map the segment file");
  FileKeeper keeper(page, ProcessId());
  // A forked child must not keep its dead parent's locks.
  if (madvise(page, kPageBytes, MADV_DONTFORK) == -1) {
    return OsError("cannot keep a mapping from forked children");
  }
  return keeper;
}

// In a forked child this address may be another mapping.
FileKeeper::~FileKeeper() {
  if (page_ != nullptr && owner_process_ == ProcessId()) munmap(page_, kPageBytes);
}

}  // namespace platform
}  // namespace holdfast
