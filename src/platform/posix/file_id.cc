#include "platform/file_id.h"

#include <sys/stat.h>

namespace holdfast {
inline namespace platform {

FileId FileIdOf(int fd) {
  struct stat found {};
  if (fstat(fd, &found) == -1) return {};
  return {found.st_dev, found.st_ino};
}

}  // namespace platform
}  // namespace holdfast
