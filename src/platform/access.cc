#include "platform/access.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "platform/clock.h"
#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr uint64_t kStatBlockBytes = 512;  // whatever the file system's own block is
// In a user namespace the kernel shows this number for every user and group that has none there.
constexpr gid_t kUnknownGroup = 65534;

Status Refuse(const char* reason, int error = 0) { return {StatusCode::kNoAccess, reason, error}; }

// With a list the bits of the group say how much any other user or group of the list may do.
bool HasAccessList(int fd) {
  return fgetxattr(fd, "system.posix_acl_access", nullptr, 0) > 0 ||
         fgetxattr(fd, "system.posix_acl_default", nullptr, 0) > 0;
}

}  // namespace

bool Access::HasOwner(uid_t user, gid_t group) const {
  return is_shared() ? group == *group_ : user == geteuid();
}

namespace {

Status Gone() { return {StatusCode::kClosed, "the segment file is not there", ENOENT}; }

Status WhyNoFile(int error) {
  switch (error) {
    case ENOENT:
      return Gone();
    case ELOOP:
      return Refuse("a symbolic link is in the place of the segment file; remove it", error);
    case EISDIR:
      return Refuse("a directory is in the place of the segment file; remove it", error);
    case ENXIO:
      return Refuse("a socket or a device is in the place of the segment file; remove it", error);
    default:
      return OsError("cannot open the segment file; check its owner and mode", error);
  }
}

Status CheckFile(const struct stat& found, const Access& access) {
  if (!S_ISREG(found.st_mode)) {
    return Refuse("something that is no regular file has the name of the segment file; remove it");
  }
  if (!access.HasOwner(found.st_uid, found.st_gid)) {
    return Refuse(access.is_shared()
                      ? "the segment file is of another group than its directory; remove it"
                      : "the segment file belongs to another user; remove it");
  }
  if ((found.st_mode & kPermissionBits) != access.file_mode()) {
    return Refuse(access.is_shared()
                      ? "the mode of the segment file is not 0660; find out why, then remove it"
                      : "the mode of the segment file is not 0600; find out why, then remove it");
  }
  if (found.st_nlink == 0) return Gone();
  if (found.st_nlink > 1) {
    return Refuse("the segment file has further hard links; find out why, then remove it");
  }
  return {};
}

}  // namespace

Result<OpenedFile> OpenFile(int directory, const char* name, const Access& access) {
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }));
  if (!fd) return WhyNoFile(errno);
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine the segment file");
  const Status checked = CheckFile(found, access);
  if (!checked.ok()) return checked;
  if (access.is_shared() && HasAccessList(fd.get())) {
    return Refuse("the segment file has an access control list; find out why, then remove it");
  }
  return OpenedFile{.fd = std::move(fd),
                    .size = static_cast<uint64_t>(found.st_size),
                    .allocated = static_cast<uint64_t>(found.st_blocks) * kStatBlockBytes};
}

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

namespace {

constexpr int kMaxGroups = 65536;  // of a user, as in the kernel

// Whether this process is in the group.
bool IsMember(gid_t group) {
  if (getegid() == group) return true;
  std::vector<gid_t> groups(kMaxGroups);
  const int count = getgroups(kMaxGroups, groups.data());
  return count > 0 &&
         std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

// Whether the user database has the user as a member of the group. Its functions hide that no
// descriptor is left to read it.
Result<bool> IsKnownMember(uid_t user, gid_t group) {
  constexpr size_t kMaxEntryBytes = 65536;
  const UniqueFd spare(open("/", O_PATH | O_CLOEXEC));
  if (!spare) return OsError("cannot read the user database");
  std::vector<char> buffer(kMaxEntryBytes);
  struct passwd entry {};
  struct passwd* found = nullptr;
  const int error = getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    return OsError("cannot read the user database", error);
  }
  if (error != 0 || found == nullptr) return false;
  std::vector<gid_t> groups(kMaxGroups);
  int count = kMaxGroups;
  if (getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) == -1) return false;
  return std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

// An owner may change the mode at any time. And any user may make such a directory inside of a
// directory with the setgid bit.
Status CheckSharedOwner(uid_t owner, gid_t group) {
  constexpr uid_t kRoot = 0;
  if (owner == kRoot || owner == geteuid()) return {};
  if (!IsMember(group)) {
    return Refuse(
        "the shared directory belongs to another user, and this process is not a member of its "
        "group; chown root");
  }
  const Result<bool> is_known = IsKnownMember(owner, group);
  if (!is_known.ok()) return is_known.status();
  if (*is_known) return {};
  return Refuse(
      "the owner of the shared directory is neither root nor known as a member of its group; "
      "chown root");
}

Status CheckDirectoryType(const struct stat& found) {
  if (S_ISLNK(found.st_mode)) {
    return Refuse("the bucket directory is a symbolic link; name the place that it leads to");
  }
  if (!S_ISDIR(found.st_mode)) {
    return Refuse("something that is no directory has the name of the bucket directory; remove it");
  }
  return {};
}

Result<Access> PrivateAccess(const struct stat& found) {
  if (found.st_uid != geteuid()) {
    const bool is_of_group = (found.st_mode & S_IRWXG) == S_IRWXG;
    return Refuse(
        is_of_group ? "the bucket directory belongs to another user and is not shared: its mode is "
                      "not 2770; 'holdfast share' prepares it for the members of a group"
                    : "the bucket directory belongs to another user; choose another directory");
  }
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Refuse(
        "the bucket directory is open to group or others; chmod 700, choose another, or let "
        "'holdfast share' prepare it for the members of a group");
  }
  if ((found.st_mode & S_IRWXU) != S_IRWXU) {
    return Refuse("the bucket directory lacks rights of its owner; chmod 700, check the umask");
  }
  return Access::Private();
}

Result<Access> SharedAccess(const struct stat& found) {
  if (found.st_gid == kUnknownGroup) {
    return Refuse("the group of the shared directory has no number in this user namespace");
  }
  const Status trusted = CheckSharedOwner(found.st_uid, found.st_gid);
  if (!trusted.ok()) return trusted;
  return Access::SharedWith(found.st_gid);
}

bool IsShared(const struct stat& found) {
  return (found.st_mode & kPermissionBits) == Access::SharedWith(0).directory_mode();
}

Result<Access> AccessOf(const struct stat& found) {
  const Status checked = CheckDirectoryType(found);
  if (!checked.ok()) return checked;
  return IsShared(found) ? SharedAccess(found) : PrivateAccess(found);
}

// Finds out why a directory cannot be opened.
Status WhyNoDirectory(int parent, const char* path, int error) {
  struct stat found {};
  if (fstatat(parent, path, &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (IsShared(found) && error == EACCES) {
      return Refuse(
          "this user is not a member of the group of the shared directory; 'usermod -aG' makes it "
          "one, for the processes that it starts then",
          error);
    }
    const Result<Access> access = AccessOf(found);
    if (!access.ok()) return access.status();
  }
  return OsError("cannot open the bucket directory", error);
}

// Checks the file system of a directory that `opened` is, or that cannot be opened. An NFS server
// can take the rights of root away, and then the remedy is neither another group nor another owner.
Status CheckFileSystemAt(int parent, const char* path, const UniqueFd& opened) {
  if (opened) return CheckFileSystem(opened.get());
  const UniqueFd fd(openat(parent, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return fd ? CheckFileSystem(fd.get()) : Status();
}

UniqueFd OpenWithoutLinks(int parent, const char* path) {
  return UniqueFd(RetryOnEintr([&] {
    return openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  }));
}

// Makes a directory for this user alone, unless there is something of that name.
Status MakeDirectory(int parent, const char* path) {
  if (mkdirat(parent, path, S_IRWXU) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return OsError("cannot make the bucket directory");
  return {StatusCode::kNoAccess, "the place for the bucket directory does not exist; make it first",
          ENOENT};
}

}  // namespace

Result<OpenedDirectory> OpenDirectory(const char* path, Users users) {
  const Status made = MakeDirectory(AT_FDCWD, path);
  if (!made.ok()) {
    const std::string_view all(path);
    const std::string parent(all.substr(0, all.rfind('/') + 1));  // it may be relative
    const Status local = CheckFileSystemAt(AT_FDCWD, parent.empty() ? "." : parent.c_str(), {});
    return local.ok() ? made : local;
  }
  UniqueFd fd = OpenWithoutLinks(AT_FDCWD, path);
  const int error = errno;
  const Status local = CheckFileSystemAt(AT_FDCWD, path, fd);
  if (!local.ok()) return local;
  if (!fd) return WhyNoDirectory(AT_FDCWD, path, error);
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine the bucket directory");
  const Result<Access> access = AccessOf(found);
  if (!access.ok()) return access.status();
  if (access->is_shared() && users == Users::kOneUser) {
    return Refuse(
        "the directory of this user alone is shared with a group, and any member may have made it; "
        "remove it, or choose another");
  }
  if (access->is_shared() && HasAccessList(fd.get())) {
    return Refuse(
        "the shared directory has an access control list, which may let in others than its group; "
        "setfacl -b");
  }
  return OpenedDirectory{.fd = std::move(fd), .access = *access};
}

namespace {

// By the descriptor: another member may have put a link, or another directory, in the place of the
// draft. The mode of an owner who is not in the group loses the setgid bit.
Status SetSharedMode(int directory, const Access& access) {
  struct stat found {};
  if (fstat(directory, &found) == -1) return OsError("cannot examine the bucket directory");
  if (found.st_uid != geteuid() || !access.HasOwner(found.st_uid, found.st_gid)) {
    return Refuse("the new bucket directory was replaced, or has not the group of its directory");
  }
  if (fchmod(directory, access.directory_mode()) == -1 || fstat(directory, &found) == -1) {
    return OsError("cannot set the mode of the bucket directory");
  }
  if (IsShared(found)) return {};
  return Refuse(
      "the bucket directory cannot be given the mode 2770: this process is not in the group of the "
      "shared directory");
}

// Makes the directory `name` of a group so that a peer finds it with all its rights or not at all.
Status MakeSharedDirectory(const OpenedDirectory& parent, const char* name) {
  const std::string draft = std::string(".") + name + ".new-" + std::to_string(RandomWord());
  if (mkdirat(parent.fd.get(), draft.c_str(), S_IRWXU) == -1) {
    return OsError("cannot make the bucket directory");
  }
  const UniqueFd fd = OpenWithoutLinks(parent.fd.get(), draft.c_str());
  Status made = fd ? SetSharedMode(fd.get(), parent.access)
                   : OsError("cannot set the mode of the bucket directory");
  if (made.ok()) {
    if (syscall(SYS_renameat2, parent.fd.get(), draft.c_str(), parent.fd.get(), name,
                RENAME_NOREPLACE) == 0) {
      return {};
    }
    if (errno != EEXIST) made = OsError("cannot name the bucket directory");
  }
  (void)unlinkat(parent.fd.get(), draft.c_str(), AT_REMOVEDIR);
  return made;
}

Status CheckSubdirectory(const struct stat& found, const Access& access) {
  const Status checked = CheckDirectoryType(found);
  if (!checked.ok()) return checked;
  if (!access.is_shared()) {
    if (found.st_uid == geteuid() && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      return Refuse("the bucket is open to group or others, and its directory is not; chmod 700");
    }
    const Result<Access> own = PrivateAccess(found);
    return own.ok() ? Status() : own.status();
  }
  if (IsShared(found) && access.HasOwner(found.st_uid, found.st_gid)) return {};
  return Refuse(
      "the bucket has not the group of its shared directory and the mode 2770; remove it when no "
      "process uses it");
}

}  // namespace

Result<UniqueFd> OpenSubdirectory(const OpenedDirectory& parent, const char* name) {
  const int directory = parent.fd.get();
  UniqueFd fd = OpenWithoutLinks(directory, name);
  if (!fd && errno == ENOENT) {
    const Status made = parent.access.is_shared() ? MakeSharedDirectory(parent, name)
                                                  : MakeDirectory(directory, name);
    if (!made.ok()) return made;
    fd = OpenWithoutLinks(directory, name);
  }
  const int error = errno;
  const Status local = CheckFileSystemAt(directory, name, fd);
  if (!local.ok()) return local;
  struct stat found {};
  const int examined =
      fd ? fstat(fd.get(), &found) : fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW);
  if (examined == 0) {
    const Status checked = CheckSubdirectory(found, parent.access);
    if (!checked.ok()) return checked;
  }
  if (!fd) return OsError("cannot open the bucket directory", error);
  if (examined == -1) return OsError("cannot examine the bucket directory");
  if (parent.access.is_shared() && HasAccessList(fd.get())) {
    return Refuse("the bucket has an access control list; remove it when no process uses it");
  }
  return fd;
}

}  // namespace platform
}  // namespace holdfast
