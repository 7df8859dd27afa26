#include "platform/file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

// As in statfs(2); the kernel's own headers do not have all of them.
constexpr std::array<uint64_t, 17> kNetworkFileSystems = {
    0x6969,      // NFS
    0x517B,      // SMB
    0xFE534D42,  // SMB 2 and 3
    0xFF534D42,  // CIFS
    0x01021997,  // 9P
    0x65735546,  // FUSE: sshfs, GlusterFS, virtiofs and others
    0x00C36400,  // Ceph
    0x5346414F,  // AFS
    0x6B414653,  // AFS of the kernel
    0x73757245,  // Coda
    0x564C,      // NCP
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x7461636F,  // OCFS2
    0x01161970,  // GFS2
    0x786F4256,  // shared folders of VirtualBox
    0xBACBACBC,  // shared folders of VMware
};

}  // namespace

bool IsNetworkFileSystem(uint64_t type) {
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) !=
         kNetworkFileSystems.end();
}

Status CheckFileSystem(int fd) {
  constexpr uint64_t kLowWord = 0xFFFFFFFF;  // some kernels sign-extend it
  struct statfs found {};
  // If the type is unknown, the file is accepted: it could be opened.
  if (RetryOnEintr([&] { return fstatfs(fd, &found); }) == -1) return {};
  if (!IsNetworkFileSystem(static_cast<uint64_t>(found.f_type) & kLowWord)) return {};
  return {StatusCode::kNoAccess,
          "the bucket directory is on a network file system, where memory is not shared; choose a "
          "directory on tmpfs, such as /dev/shm"};
}

}  // namespace platform
}  // namespace holdfast
