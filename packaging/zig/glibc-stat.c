// stat() and its relatives for the glibc binaries. Before glibc 2.33 they are no symbols of libc.so:
// each program brings its own, which calls what libc.so has. Zig 0.11 brings newer ones instead,
// that make the system call themselves and report errors in a separate `errno`.
#include <sys/stat.h>

#if defined(__x86_64__)
enum { kStatVersion = 1 };
#elif defined(__aarch64__)
enum { kStatVersion = 0 };
#endif

int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int fd, struct stat* result);
int __fxstatat(int version, int fd, const char* path, struct stat* result, int flags);

int stat(const char* path, struct stat* result) { return __xstat(kStatVersion, path, result); }

int lstat(const char* path, struct stat* result) { return __lxstat(kStatVersion, path, result); }

int fstat(int fd, struct stat* result) { return __fxstat(kStatVersion, fd, result); }

int fstatat(int fd, const char* path, struct stat* result, int flags) {
  return __fxstatat(kStatVersion, fd, path, result, flags);
}
