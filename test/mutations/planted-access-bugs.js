'use strict';

// Mistakes in the rules of a directory that the members of a group share.

const SHARED = 'platform_test:*SharedDirectoryTest*';
const ACCESS = 'src/platform/access.cc';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const ACCESS_BUGS = [
  {
    name: 'a shared directory may have rights for others, or be sticky',
    file: ACCESS,
    from: 'return (found.st_mode & kPermissionBits) == Access::SharedWith(0).directory_mode();',
    to: 'return (found.st_mode & (S_ISGID | S_IRWXG)) == (S_ISGID | S_IRWXG);',
    tests: [SHARED],
  },
  {
    name: 'an access control list of a directory is not noticed',
    file: ACCESS,
    from: 'return fgetxattr(fd, "system.posix_acl_access", nullptr, 0) > 0 ||',
    to: 'return',
    tests: [SHARED],
  },
  {
    name: 'an access control list for all that is made in a directory is not noticed',
    file: ACCESS,
    from: 'fgetxattr(fd, "system.posix_acl_default", nullptr, 0) > 0;',
    to: 'false;',
    tests: [SHARED],
  },
  {
    name: 'any user may own a shared directory',
    file: ACCESS,
    from: 'if (*is_known) return {};',
    to: 'if (is_known.ok()) return {};',
    tests: [SHARED],
  },
  {
    name: 'root uses the shared directory of a group that it is not in',
    file: ACCESS,
    from: '  if (!IsMember(group)) {\n',
    to: '  if (!IsMember(group) && owner == kRoot) {\n',
    tests: [SHARED],
  },
  {
    name: 'the directory of one user may be shared by a group',
    file: ACCESS,
    from: 'if (access->is_shared() && users == Users::kOneUser) {',
    to: 'if (!access->is_shared() && users == Users::kOneUser) {',
    tests: [SHARED],
  },
  {
    name: 'a group without a number in this user namespace is taken for one',
    file: ACCESS,
    from: 'if (found.st_gid == kUnknownGroup) {',
    to: 'if (found.st_gid == kUnknownGroup + 1) {',
    tests: [SHARED],
  },
  {
    name: 'a file of any group counts in a shared directory',
    file: ACCESS,
    from: 'return is_shared() ? group == *group_ : user == geteuid();',
    to: 'return is_shared() ? group != UINT32_MAX : user == geteuid();',
    tests: [SHARED],
  },
  {
    name: 'a bucket of any mode counts in a shared directory',
    file: ACCESS,
    from: 'if (IsShared(found) && access.HasOwner(found.st_uid, found.st_gid)) return {};',
    to: 'if (access.HasOwner(found.st_uid, found.st_gid)) return {};',
    tests: [SHARED],
  },
  {
    name: 'the umask takes rights from a shared bucket',
    file: ACCESS,
    from: 'if (fchmod(directory, access.directory_mode()) == -1 || fstat(directory, &found) == -1) {',
    to: 'if (fstat(directory, &found) == -1) {',
    tests: [SHARED],
  },
  {
    name: 'the umask takes rights from a doorbell',
    file: 'src/platform/doorbell.cc',
    from: 'if (fchmod(fifo->get(), access.file_mode()) == -1) {',
    to: 'if (access.file_mode() == 0) {',
    tests: [SHARED],
  },
  {
    name: 'a shared segment is private',
    file: 'src/platform/bucket_directory.cc',
    from: 'const mode_t mode = directory.access().file_mode();',
    to: 'const mode_t mode = S_IRUSR | S_IWUSR;',
    tests: [SHARED],
  },
];

module.exports = { ACCESS_BUGS };
