// Runs the scheduler's work in the turns of an event loop: calls back into JavaScript, again and
// again while there is work.
//
// A turn of libuv's loop is: timers, prepare, I/O, check (setImmediate runs here), closing. Urgent
// work runs before each of timers and I/O, and normal work once per turn. Idle work runs in the
// check phase of a turn that found nothing else. JavaScript decides which task to run, and for how
// long.
//
// The object owns itself: libuv releases handles only after their close callbacks, which in a
// worker come after everything else of the addon is gone. JavaScript owns its use: an object of
// functions that nothing refers to while no work waits is collected, and closes the hook.
#ifndef HOLDFAST_BINDING_LOOP_HOOK_H_
#define HOLDFAST_BINDING_LOOP_HOOK_H_

#include <node_api.h>
#include <uv.h>

#include <cstdint>
#include <span>

#include "binding/js_callback.h"

namespace holdfast::binding {

class LoopHook {
 public:
  // The work that waits in JavaScript, from the least urgent up.
  enum Level : uint32_t { kNone, kIdle, kNormal, kUrgent };

  // The numbers that both sides see. JavaScript writes the level of its most urgent work. This side
  // writes the rest: the numbers of the turn and of the run of calls, and the length of an idle
  // period, in ms.
  enum Cell : uint32_t { kLevelCell, kTurnCell, kRunCell, kIdleMsCell, kCellCount };

  // openLoopHook(cells: Float64Array, run: (leastLevel) => boolean) ->
  //   { wake(), isIdle(), report(error) }
  // `run` runs work of that level or above; false: there was none that may run in this turn.
  // The result refers to `cells` and `run`. This side refers to the result only while it is awake.
  static napi_value Open(napi_env env, napi_callback_info info);

 private:
  LoopHook(napi_env env, std::span<double> cells) : env_(env), cells_(cells.data()) {}
  ~LoopHook() = default;

  static LoopHook* Of(void* handle) {
    return static_cast<LoopHook*>(static_cast<uv_handle_t*>(handle)->data);
  }
  template <typename Handle>
  uv_handle_t* AsHandle(Handle& handle) {
    handle.data = this;
    return reinterpret_cast<uv_handle_t*>(&handle);
  }

  // wake(): the level has risen.
  static napi_value WakeByJs(napi_env env, napi_callback_info info);
  // isIdle(): whether the loop would sleep now; false once the environment ends.
  static napi_value IsIdleByJs(napi_env env, napi_callback_info info);
  // report(error): an uncaught error.
  static napi_value ReportByJs(napi_env env, napi_callback_info info);
  static void OnEnvironmentEnd(void* self);
  static void OnCollected(napi_env env, void* self, void*);

  // The functions above, in an object; null: JavaScript cannot run any more.
  napi_value Functions(napi_value cells, napi_value run);
  // Registers what ends this object; false: JavaScript cannot run any more.
  bool BelongTo(napi_value functions);
  void Unref();

  void Init(uv_loop_t* loop);
  void Close();
  void Wake();
  void Sleep();
  void RunBeforeTimers();
  void OnBeforeTimersClosed();
  void OnPrepare();
  void OnCheck();
  // Runs all that may run, from `least` up, and says whether there was anything.
  bool Run(Level min);
  bool CallRun(Level min);
  // Whether the loop would sleep now; reports to JavaScript for how long.
  bool IsLoopIdle();
  uint64_t CountEvents() const;
  Level level() const { return static_cast<Level>(cells_[kLevelCell]); }

  napi_env env_;
  JsReference functions_;  // with the cells and run() as properties
  double* cells_;
  JsReference run_;
  uv_loop_t* loop_ = nullptr;
  uv_prepare_t prepare_{};  // keeps the loop alive
  uv_check_t check_{};
  uv_idle_t idle_{};      // keeps it from sleeping
  uv_timer_t timer_{};    // runs ahead of the timers with which a loop begins
  uv_idle_t closable_{};  // closed for its close callback, between the check phase and the timers
  bool is_closing_closable_ = false;
  int references_ = 0;  // open handles, and the object of functions
  bool is_open_ = true;
  bool is_awake_ = false;
  bool is_running_ = false;
  bool turn_had_work_ = false;
  uint64_t events_before_ = 0;
  uint64_t polled_at_ = 0;  // when the system was last polled for I/O
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_LOOP_HOOK_H_
