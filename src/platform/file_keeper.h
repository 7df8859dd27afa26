// Keeps an open file description open without a descriptor, so that its locks outlive a stray
// close() or closefrom(). Ends with the process, and is not inherited by a forked child.
#ifndef HOLDFAST_PLATFORM_FILE_KEEPER_H_
#define HOLDFAST_PLATFORM_FILE_KEEPER_H_

#include <cstdint>
#include <utility>

#include "platform/result.h"

namespace holdfast {
inline namespace platform {

class FileKeeper {
 public:
  // Keeps the description behind `fd`, a regular file open for reading.
  static Result<FileKeeper> Keep(int fd);
  FileKeeper(FileKeeper&& other) noexcept
      : page_(std::exchange(other.page_, nullptr)), owner_process_(other.owner_process_) {}
  FileKeeper& operator=(FileKeeper&&) = delete;
  FileKeeper(const FileKeeper&) = delete;
  FileKeeper& operator=(const FileKeeper&) = delete;
  ~FileKeeper();

 private:
  FileKeeper(void* page, uint32_t owner_process) : page_(page), owner_process_(owner_process) {}

  void* page_;
  uint32_t owner_process_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_KEEPER_H_
