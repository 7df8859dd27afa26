// LD_PRELOAD: every file is on a file system of the type that HOLDFAST_TEST_FILE_SYSTEM names, a
// number as statfs(2) lists them.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Both have the same layout where a program of 64 bits runs.
_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "not a machine of 64 bits");

int fstatfs64(int fd, struct statfs64* found) {
  const int result = (int)syscall(SYS_fstatfs, fd, found);
  if (result == 0) found->f_type = strtol(getenv("HOLDFAST_TEST_FILE_SYSTEM"), NULL, 0);
  return result;
}

int fstatfs(int fd, struct statfs* found) { return fstatfs64(fd, (struct statfs64*)found); }
