// LD_PRELOAD: shifts CLOCK_REALTIME of a process. The file in HOLDFAST_TEST_CLOCK holds the shift in
// nanoseconds: one int64, mapped, so that a test can change it at any time. The other clocks are not
// changed: setting the time of a system does not change them either.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kNsPerSecond = 1000000000 };

static const volatile int64_t* shift_ns;

__attribute__((constructor)) static void MapShift(void) {
  const int fd = open(getenv("HOLDFAST_TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
  void* const mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) abort();
  shift_ns = mapped;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  const int is_real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result != 0 || !is_real || shift_ns == NULL) return result;
  const int64_t ns = now->tv_sec * (int64_t)kNsPerSecond + now->tv_nsec + *shift_ns;
  now->tv_sec = ns / kNsPerSecond;
  now->tv_nsec = ns % kNsPerSecond;
  return 0;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* seconds) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (seconds != NULL) *seconds = precise.tv_sec;
  return precise.tv_sec;
}
