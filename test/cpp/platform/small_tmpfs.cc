#include "platform/small_tmpfs.h"

#include <sched.h>
#include <sys/mount.h>

#include "platform/child_process.h"

namespace holdfast {

int OnSmallTmpfs(const std::string& path, unsigned bytes, const std::function<int()>& body) {
  const std::string options = "mode=700,size=" + std::to_string(bytes);
  return ChildProcess::Run([&] {
    if (unshare(CLONE_NEWNS) == -1 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == -1 ||
        mount("none", path.c_str(), "tmpfs", 0, options.c_str()) == -1) {
      return kCannotMount;
    }
    return body();
  });
}

}  // namespace holdfast
