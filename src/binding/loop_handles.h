// The handles with which an agent takes part in its event loop. They are a poll on the doorbell,
// prepare, check and idle around the loop's sleep, and a timer for the sweep.
//
// They live on their own, because libuv gives a handle back only after its close callback. In a
// worker that callback comes after everything else of the addon is gone.
#ifndef HOLDFAST_BINDING_LOOP_HANDLES_H_
#define HOLDFAST_BINDING_LOOP_HANDLES_H_

#include <uv.h>

#include <cstdint>

#include "platform/known_fd.h"

namespace holdfast::binding {

class LoopHandles {
 public:
  class Listener {
   public:
    virtual void OnPrepare() = 0;   // the loop is about to sleep
    virtual void OnCheck() = 0;     // it has slept
    virtual void OnDoorbell() = 0;  // a peer has rung
    virtual void OnSweep() = 0;     // a second has passed

   protected:
    ~Listener() = default;
  };

  // Null when libuv cannot make them.
  static LoopHandles* Open(uv_loop_t* loop, int doorbell_fd, Listener& listener);
  // Stops everything at once; the object deletes itself when libuv has let go of it.
  void Close();

  // Whether the loop has a reason to live in this agent.
  void KeepAlive(bool keep_alive);
  // Sweeps once a second; does not keep the loop alive.
  void Sweep(bool sweeps);
  // Makes the loop come round again instead of sleeping.
  void DoNotSleep(bool keep_awake);
  // At the end of OnPrepare(), and first in OnCheck(): how the loop is driven.
  void NoteSleep();
  void NoteWake();
  // Whether this loop sleeps inside of uv_run(), so that OnPrepare() comes before each sleep. False
  // until it has done so, and if the program sleeps outside of it (UV_RUN_NOWAIT), as Electron
  // does. Such a program may run JavaScript outside of the loop, too, and does not announce its
  // sleep.
  bool SleepsItself() const { return sleeps_itself_; }
  // In OnPrepare(): whether nothing else in the loop is due.
  bool IsAboutToSleep() const;

 private:
  LoopHandles() = default;
  ~LoopHandles() = default;
  static LoopHandles* Of(const uv_handle_t* handle) {
    return static_cast<LoopHandles*>(handle->data);
  }
  template <typename Handle>
  uv_handle_t* AsHandle(Handle& handle) {
    handle.data = this;
    return reinterpret_cast<uv_handle_t*>(&handle);
  }
  bool Start();
  uint64_t CountEvents() const;

  Listener* listener_ = nullptr;
  KnownFd nested_epoll_;  // of the doorbell
  uv_poll_t poll_{};
  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uv_idle_t idle_{};
  uv_timer_t timer_{};
  int open_handles_ = 0;
  bool keeps_alive_ = false;
  bool keeps_awake_ = false;
  bool sweeps_ = false;
  bool sleeps_itself_ = false;
  bool is_about_to_sleep_ = false;  // at the last NoteSleep(), and what libuv had counted then:
  uint64_t idle_before_ns_ = 0;
  uint64_t events_before_ = 0;
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_LOOP_HANDLES_H_
