#include "platform/death_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr int kBatch = 64;

epoll_event EventOf(uint32_t events, uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return event;
}

}  // namespace

Result<DeathWatch> DeathWatch::Create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return OsError("cannot create an epoll instance");
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return OsError("cannot create an eventfd");
  epoll_event event = EventOf(EPOLLIN, kReservedKey);
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) == -1) {
    return OsError("cannot watch an eventfd");
  }
  return DeathWatch(std::move(epoll), std::move(wake));
}

Status DeathWatch::Watch(int fd, uint64_t key) const {
  if (key == kReservedKey) return {StatusCode::kInvalidArgument, "this key cannot be watched"};
  // No event is requested: EPOLLERR is always reported, and with EPOLLONESHOT only once.
  epoll_event event = EventOf(EPOLLONESHOT, key);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  switch (errno) {
    case EEXIST:
      return {StatusCode::kBusy, "the descriptor is watched already", EEXIST};
    case EBADF:
    case EINVAL:
    case EPERM:
      return {StatusCode::kInvalidArgument, "the descriptor cannot be watched", errno};
    case ENOSPC:
      return {StatusCode::kTooManyFiles,
              "too many watched descriptors; raise fs.epoll.max_user_watches", ENOSPC};
    default:
      return OsError("cannot watch a descriptor");
  }
}

void DeathWatch::Unwatch(int fd) const {
  epoll_event unused{};
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &unused);
}

void DeathWatch::Abandon() {
  (void)epoll_.release();
  (void)wake_.release();
}

void DeathWatch::Wake() const {
  const uint64_t one = 1;
  if (wake_.IsIntact()) {
    RetryOnEintr([&] { return write(wake_.get(), &one, sizeof(one)); });
    return;
  }
  // The program has closed it. Another eventfd, which is readable, ends the Wait(), which then
  // fails. The event needs that eventfd open.
  UniqueFd other(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event = EventOf(EPOLLIN | EPOLLONESHOT, kReservedKey);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, other.get(), &event) == 0) (void)other.release();
}

int DeathWatch::Wait(int timeout_ms, uint64_t* keys, int capacity) const {
  std::array<epoll_event, kBatch> events{};
  const int found = epoll_wait(epoll_.get(), events.data(), std::min(capacity, kBatch), timeout_ms);
  if (found == -1) return errno == EINTR ? 0 : -1;
  int deaths = 0;
  for (int i = 0; i < found; ++i) {
    const uint64_t key = events[static_cast<size_t>(i)].data.u64;
    if (key != kReservedKey) {
      keys[deaths++] = key;
      continue;
    }
    if (!wake_.IsIntact()) return -1;
    uint64_t wakes = 0;
    RetryOnEintr([&] { return read(wake_.get(), &wakes, sizeof(wakes)); });
  }
  return deaths;
}

}  // namespace platform
}  // namespace holdfast
