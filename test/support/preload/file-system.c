// LD_PRELOAD: every file is on a file system of the type that HOLDFAST_TEST_FILE_SYSTEM names, a
// number as statfs(2) lists them.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Both have the same layout where a program of 64 bits runs.
_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "not a machine of 64 bits");

static int replace_type(long result, struct statfs64* found) {
  const char* const type = getenv("HOLDFAST_TEST_FILE_SYSTEM");  // a broker does not inherit it
  if (result == 0 && type != NULL) found->f_type = strtol(type, NULL, 0);
  return (int)result;
}

int fstatfs64(int fd, struct statfs64* found) {
  return replace_type(syscall(SYS_fstatfs, fd, found), found);
}

int fstatfs(int fd, struct statfs* found) { return fstatfs64(fd, (struct statfs64*)found); }

int statfs64(const char* path, struct statfs64* found) {
  return replace_type(syscall(SYS_statfs, path, found), found);
}

int statfs(const char* path, struct statfs* found) {
  return statfs64(path, (struct statfs64*)found);
}
