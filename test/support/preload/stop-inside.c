// LD_PRELOAD: stops a process inside the lock table. A thread that grants a lock to the next in the
// queue reads the coarse clock inside the shard, so the first such reading of the addon after the
// order stops its process there. The file that HOLDFAST_TEST_STOP names holds the order: one
// int64, mapped: 1 is the order, 2 says that it was carried out.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t* order;

__attribute__((constructor)) static void MapOrder(void) {
  const int fd = open(getenv("HOLDFAST_TEST_STOP"), O_RDWR | O_CLOEXEC);
  void* const mapped = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) abort();
  order = mapped;
  close(fd);
}

static int IsOfAddon(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "holdfast.node") != NULL;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  int64_t ordered = 1;
  if (clock == CLOCK_REALTIME_COARSE && order != NULL && IsOfAddon(__builtin_return_address(0)) &&
      atomic_compare_exchange_strong(order, &ordered, 2)) {
    kill(getpid(), SIGSTOP);
  }
  return (int)syscall(SYS_clock_gettime, clock, now);
}
