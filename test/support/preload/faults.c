// LD_PRELOAD: lets system calls fail, one after the other, but only those that the addon makes; the
// calls of Node itself go through. The file that HOLDFAST_TEST_FAULTS names is the struct below,
// mapped, so that a test can set it at any time.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kErrors = 3, kNameBytes = 32 };

// The layout that faults.js knows.
struct Faults {
  int64_t first;           // the number of the first call that fails; 0: none
  int64_t last;            // the number of the last call that fails
  int64_t variant;         // index of the error
  _Atomic int64_t calls;   // number of calls made
  _Atomic int64_t failed;  // number of failed calls
  char name[kNameBytes];   // name of the first failed call
};

static struct Faults* faults;

__attribute__((constructor)) static void MapFaults(void) {
  const int fd = open(getenv("HOLDFAST_TEST_FAULTS"), O_RDWR | O_CLOEXEC);
  void* const mapped = mmap(NULL, sizeof(struct Faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) abort();
  faults = mapped;
  syscall(SYS_close, fd);
}

static int IsOfAddon(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "holdfast.node") != NULL;
}

// Whether this call fails, with `errno` set; its errors end with 0, or after kErrors of them.
static int Fails(const void* caller, const char* name, const int (*errors)[kErrors]) {
  if (faults == NULL || !IsOfAddon(caller)) return 0;
  const int64_t call = atomic_fetch_add(&faults->calls, 1) + 1;
  if (faults->first == 0 || call < faults->first || call > faults->last) return 0;
  if (atomic_fetch_add(&faults->failed, 1) == 0) {
    snprintf(faults->name, sizeof(faults->name), "%s", name);
  }
  int count = 1;
  while (count < kErrors && (*errors)[count] != 0) ++count;
  const int error = (*errors)[faults->variant % count];
  // An interrupted caller tries again: EINTR cannot be a lasting error.
  errno = error == EINTR && faults->last > faults->first ? (*errors)[0] : error;
  return 1;
}

#define ERRORS(...) (&(const int[kErrors]){__VA_ARGS__})
#define FAILS(...) Fails(__builtin_return_address(0), __func__, ERRORS(__VA_ARGS__))
#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return FAILS(EMFILE, EACCES, EIO) ? -1 : REAL(open64)(path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return FAILS(EMFILE, EACCES, ENOSPC) ? -1 : REAL(openat64)(directory, path, flags, mode);
}

int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return FAILS(ENOLCK, EMFILE, EIO) ? -1 : REAL(fcntl64)(fd, command, argument);
}

long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(arguments, long);
  va_end(arguments);
  // A futex call can only be interrupted.
  const int fails = number == SYS_futex ? FAILS(EINTR) : FAILS(EIO, ENOSPC, ENOSYS);
  return fails ? -1 : REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int epoll_create1(int flags) {
  return FAILS(EMFILE, ENFILE, ENOMEM) ? -1 : REAL(epoll_create1)(flags);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  return FAILS(ENOSPC, ENOMEM) ? -1 : REAL(epoll_ctl)(epoll, operation, fd, event);
}

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
  return FAILS(EINTR) ? -1 : REAL(epoll_wait)(epoll, events, most, timeout);
}

int eventfd(unsigned int value, int flags) {
  return FAILS(EMFILE, ENOMEM, ENODEV) ? -1 : REAL(eventfd)(value, flags);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return FAILS(ENOSPC, EIO, EOPNOTSUPP) ? -1 : REAL(fallocate64)(fd, mode, offset, length);
}

int fchmod(int fd, mode_t mode) { return FAILS(EPERM, EIO) ? -1 : REAL(fchmod)(fd, mode); }

DIR* fdopendir(int fd) { return FAILS(ENOMEM, EMFILE) ? NULL : REAL(fdopendir)(fd); }

struct dirent64* readdir64(DIR* directory) {
  return FAILS(EIO) ? NULL : REAL(readdir64)(directory);
}

int fstat64(int fd, struct stat64* found) {
  return FAILS(EIO, ENOMEM) ? -1 : REAL(fstat64)(fd, found);
}

int stat64(const char* restrict path, struct stat64* restrict found) {
  return FAILS(EACCES, ENOENT) ? -1 : REAL(stat64)(path, found);
}

int lstat64(const char* restrict path, struct stat64* restrict found) {
  return FAILS(EIO, EACCES) ? -1 : REAL(lstat64)(path, found);
}

int fstatat64(int directory, const char* restrict path, struct stat64* restrict found, int flags) {
  return FAILS(EIO, ENOMEM) ? -1 : REAL(fstatat64)(directory, path, found, flags);
}

int ftruncate64(int fd, off64_t length) {
  return FAILS(EFBIG, ENOSPC, EIO) ? -1 : REAL(ftruncate64)(fd, length);
}

ssize_t getrandom(void* bytes, size_t length, unsigned int flags) {
  return FAILS(ENOSYS, EAGAIN) ? -1 : REAL(getrandom)(bytes, length, flags);
}

int mkdirat(int directory, const char* path, mode_t mode) {
  return FAILS(ENOSPC, EACCES, EROFS) ? -1 : REAL(mkdirat)(directory, path, mode);
}

int mkfifoat(int directory, const char* path, mode_t mode) {
  return FAILS(ENOSPC, EACCES, EDQUOT) ? -1 : REAL(mkfifoat)(directory, path, mode);
}

void* mmap64(void* at, size_t length, int protection, int flags, int fd, off64_t offset) {
  return FAILS(ENOMEM, ENODEV, EAGAIN) ? MAP_FAILED
                                       : REAL(mmap64)(at, length, protection, flags, fd, offset);
}

int poll(struct pollfd* fds, nfds_t count, int timeout) {
  return FAILS(EINTR, ENOMEM) ? -1 : REAL(poll)(fds, count, timeout);
}

int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes,
                   void* (*start)(void*), void* restrict argument) {
  return FAILS(EAGAIN, EPERM) ? errno : REAL(pthread_create)(thread, attributes, start, argument);
}

ssize_t read(int fd, void* bytes, size_t length) {
  return FAILS(EIO, EAGAIN, EINTR) ? -1 : REAL(read)(fd, bytes, length);
}

ssize_t write(int fd, const void* bytes, size_t length) {
  return FAILS(EIO, EAGAIN, EINTR) ? -1 : REAL(write)(fd, bytes, length);
}

int unlinkat(int directory, const char* path, int flags) {
  return FAILS(EBUSY, EACCES, EIO) ? -1 : REAL(unlinkat)(directory, path, flags);
}
