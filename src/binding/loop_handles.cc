#include "binding/loop_handles.h"

#include <initializer_list>

#include "platform/nested_epoll.h"

namespace holdfast::binding {
namespace {

constexpr uint64_t kSweepMs = 1000;

}  // namespace

LoopHandles* LoopHandles::Open(uv_loop_t* loop, int doorbell_fd, Listener& listener) {
  auto* const handles = new LoopHandles;
  const auto can_poll = [&](int fd) { return uv_poll_init(loop, &handles->poll_, fd) == 0; };
  Result<UniqueFd> nested_epoll = OpenNestedEpoll(doorbell_fd);
  if (nested_epoll.ok() && can_poll(nested_epoll->get())) {
    handles->nested_epoll_ = KnownFd(*std::move(nested_epoll));
  } else if (!can_poll(doorbell_fd)) {  // it takes longer where two loops share a processor
    delete handles;
    return nullptr;
  }
  // These cannot fail.
  (void)uv_prepare_init(loop, &handles->prepare_);
  (void)uv_check_init(loop, &handles->check_);
  (void)uv_idle_init(loop, &handles->idle_);
  (void)uv_timer_init(loop, &handles->timer_);
  handles->listener_ = &listener;
  for (uv_handle_t* handle :
       {handles->AsHandle(handles->poll_), handles->AsHandle(handles->prepare_),
        handles->AsHandle(handles->check_), handles->AsHandle(handles->idle_),
        handles->AsHandle(handles->timer_)}) {
    uv_unref(handle);
    ++handles->open_handles_;
  }
  if (handles->Start()) return handles;
  handles->Close();
  return nullptr;
}

bool LoopHandles::Start() {
  const auto on_doorbell = [](uv_poll_t* poll, int, int) {
    Of(reinterpret_cast<uv_handle_t*>(poll))->listener_->OnDoorbell();
  };
  const auto on_prepare = [](uv_prepare_t* prepare) {
    Of(reinterpret_cast<uv_handle_t*>(prepare))->listener_->OnPrepare();
  };
  const auto on_check = [](uv_check_t* check) {
    Of(reinterpret_cast<uv_handle_t*>(check))->listener_->OnCheck();
  };
  return uv_poll_start(&poll_, UV_READABLE, on_doorbell) == 0 &&
         uv_prepare_start(&prepare_, on_prepare) == 0 && uv_check_start(&check_, on_check) == 0;
}

void LoopHandles::Close() {
  const auto on_closed = [](uv_handle_t* handle) {
    LoopHandles* const handles = Of(handle);
    if (--handles->open_handles_ == 0) delete handles;
  };
  for (uv_handle_t* handle :
       {AsHandle(poll_), AsHandle(prepare_), AsHandle(check_), AsHandle(idle_), AsHandle(timer_)}) {
    uv_close(handle, on_closed);
  }
  nested_epoll_.reset();  // libuv no longer polls it, and may call the close callbacks much later
}

void LoopHandles::KeepAlive(bool keep_alive) {
  if (keep_alive == keeps_alive_) return;
  keeps_alive_ = keep_alive;
  if (keep_alive) {
    uv_ref(AsHandle(poll_));
  } else {
    uv_unref(AsHandle(poll_));
  }
}

void LoopHandles::Sweep(bool sweeps) {
  if (sweeps == sweeps_) return;
  sweeps_ = sweeps;
  if (sweeps) {
    const auto on_sweep = [](uv_timer_t* timer) {
      Of(reinterpret_cast<uv_handle_t*>(timer))->listener_->OnSweep();
    };
    uv_timer_start(&timer_, on_sweep, kSweepMs, kSweepMs);
  } else {
    uv_timer_stop(&timer_);
  }
}

void LoopHandles::DoNotSleep(bool keep_awake) {
  if (keep_awake == keeps_awake_) return;
  keeps_awake_ = keep_awake;
  // An active idle handle, referenced or not, makes the loop poll without sleeping.
  if (keep_awake) {
    uv_idle_start(&idle_, [](uv_idle_t*) {});
  } else {
    uv_idle_stop(&idle_);
  }
}

void LoopHandles::NoteSleep() {
  is_about_to_sleep_ = IsAboutToSleep();
  if (!is_about_to_sleep_) return;
  idle_before_ns_ = uv_metrics_idle_time(prepare_.loop);
  events_before_ = CountEvents();
}

// libuv counts idle time only if it polls with a timeout, which it does unless it finds an event at
// once. With UV_RUN_NOWAIT libuv never does. Unless the host makes libuv count, as Node does, the
// loop is always rung.
void LoopHandles::NoteWake() {
  if (!is_about_to_sleep_) return;
  is_about_to_sleep_ = false;
  if (uv_metrics_idle_time(prepare_.loop) != idle_before_ns_) {
    sleeps_itself_ = true;
  } else if (CountEvents() == events_before_) {
    sleeps_itself_ = false;
  }
}

uint64_t LoopHandles::CountEvents() const {
  uv_metrics_t metrics{};
  (void)uv_metrics_info(prepare_.loop, &metrics);
  return metrics.events;
}

// Immediates, closing handles and timers that are due make it 0; so does DoNotSleep().
bool LoopHandles::IsAboutToSleep() const { return uv_backend_timeout(prepare_.loop) != 0; }

}  // namespace holdfast::binding
