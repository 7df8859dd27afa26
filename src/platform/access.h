// The users that may use a directory of buckets and the files in it: its owner alone, or a group.
//
// A directory is shared if an administrator has made it so: mode 2770, owner root or a member of
// its group. Everything made in it gets the group from the kernel (setgid) and its mode from here,
// whatever the umask takes from group and others. Each member may remove and replace the files of
// all members, so the owner of a file in it says nothing.
#ifndef HOLDFAST_PLATFORM_ACCESS_H_
#define HOLDFAST_PLATFORM_ACCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "platform/fd.h"
#include "platform/result.h"
#include "platform/status.h"

namespace holdfast {
inline namespace platform {

class Access {
 public:
  static Access Private() { return Access(std::nullopt); }
  static Access SharedWith(gid_t group) { return Access(group); }

  bool is_shared() const { return group_.has_value(); }
  mode_t file_mode() const { return is_shared() ? 0660 : 0600; }
  mode_t directory_mode() const { return is_shared() ? 02770 : 0700; }

  // Whether the owner and the group of a file in the directory are as they must be.
  bool HasOwner(uid_t user, gid_t group) const;

 private:
  explicit Access(std::optional<gid_t> group) : group_(group) {}

  std::optional<gid_t> group_;
};

struct OpenedFile {
  UniqueFd fd;
  uint64_t size;
  uint64_t allocated;  // allocated bytes, anywhere in the file
};

// Opens the file `name` for reading and writing without following a link or waiting for anything.
// kClosed: there is none, or it was removed just now. kNoAccess: not a regular file, another owner
// or group, another mode, an access control list, more than one link.
Result<OpenedFile> OpenFile(int directory, const char* name, const Access& access);

// kNoAccess: the open file is on a network file system, or on a file system in user space.
// Memory mapped from there is not shared between machines, and locks there may not exclude.
Status CheckFileSystem(int fd);
// `type` is the kernel's number of the file system.
bool IsNetworkFileSystem(uint64_t type);

struct OpenedDirectory {
  UniqueFd fd;
  Access access;
};

// The users that a directory of buckets may have.
enum class Users : uint8_t { kOneUser, kOneUserOrGroup };

// Opens the directory of buckets; a missing one is made for this user alone. `path` ends in a file
// name; links are followed except in its last part. kNoAccess: on a network file system, a link,
// something else than a directory, neither private nor shared, shared with a group without this
// process, or shared although it is for one user.
Result<OpenedDirectory> OpenDirectory(const char* path, Users users);

// The same for the directory `name` in `parent`, of which it must have the access.
Result<UniqueFd> OpenSubdirectory(const OpenedDirectory& parent, const char* name);

// Whether `name` may be used in a directory that was opened safely: one path component
// that does not lead elsewhere.
inline bool IsFileName(std::string_view name) {
  using std::string_view_literals::operator""sv;
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\0"sv) == std::string_view::npos;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_ACCESS_H_
