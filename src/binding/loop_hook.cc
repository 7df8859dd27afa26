#include "binding/loop_hook.h"

#include <poll.h>

#include <initializer_list>

#include "binding/errors.h"
#include "binding/js_values.h"

namespace holdfast::binding {

namespace {

// The length of an idle period in a loop without timers, in ms: as good as for ever.
constexpr double kNoTimer = 1e9;
// The interval of polls for I/O between idle work, in ns: a poll takes as long as a task.
constexpr uint64_t kPollInterval = 20'000;

}  // namespace

[[gnu::cold]] napi_value LoopHook::Open(napi_env env, napi_callback_info info) {
  const Call<void, 2> call(env, info);
  std::span<double> cells;
  if (!Read(env, call[0], cells) || cells.size() < kCellCount) return Quit(env);
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
    return Throw(env, Status(StatusCode::kOsError, "this environment has no event loop"));
  }
  auto* const hook = new LoopHook(env, cells);
  hook->Init(loop);
  const napi_value functions = hook->Functions(call[0], call[1]);
  if (functions != nullptr && hook->run_.Know(env, call[1]) && hook->BelongTo(functions)) {
    return functions;
  }
  hook->Close();
  return Quit(env);
}

[[gnu::cold]] napi_value LoopHook::Functions(napi_value cells, napi_value run) {
  JsObject functions(env_);
  functions.Set("wake", ToJsFunction(env_, "wake", &LoopHook::WakeByJs, this));
  functions.Set("isIdle", ToJsFunction(env_, "isIdle", &LoopHook::IsIdleByJs, this));
  functions.Set("report", ToJsFunction(env_, "report", &LoopHook::ReportByJs, this));
  functions.Set("cells", cells);
  functions.Set("run", run);
  return functions.result();
}

[[gnu::cold]] bool LoopHook::BelongTo(napi_value functions) {
  if (!functions_.Know(env_, functions) ||
      napi_add_env_cleanup_hook(env_, &LoopHook::OnEnvironmentEnd, this) != napi_ok) {
    return false;
  }
  ++references_;
  if (napi_add_finalizer(env_, functions, this, &LoopHook::OnCollected, nullptr, nullptr) ==
      napi_ok) {
    return true;
  }
  --references_;
  (void)napi_remove_env_cleanup_hook(env_, &LoopHook::OnEnvironmentEnd, this);
  return false;
}

// None of these can fail.
[[gnu::cold]] void LoopHook::Init(uv_loop_t* loop) {
  loop_ = loop;
  (void)uv_prepare_init(loop, &prepare_);
  (void)uv_check_init(loop, &check_);
  (void)uv_idle_init(loop, &idle_);
  (void)uv_timer_init(loop, &timer_);
  (void)uv_idle_init(loop, &closable_);
  (void)AsHandle(prepare_);
  for (uv_handle_t* handle : {AsHandle(check_), AsHandle(idle_), AsHandle(timer_)}) {
    uv_unref(handle);
  }
  (void)AsHandle(closable_);
  references_ = 5;
}

// The environment ends, in whatever way: nothing is called any more.
[[gnu::cold]] void LoopHook::OnEnvironmentEnd(void* self) { static_cast<LoopHook*>(self)->Close(); }

// Also at the end of an environment, after OnEnvironmentEnd().
[[gnu::cold]] void LoopHook::OnCollected(napi_env env, void* self, void*) {
  auto* const hook = static_cast<LoopHook*>(self);
  if (hook->is_open_) {
    (void)napi_remove_env_cleanup_hook(env, &LoopHook::OnEnvironmentEnd, hook);
    hook->Close();
  }
  hook->Unref();
}

void LoopHook::Unref() {
  if (--references_ == 0) delete this;
}

[[gnu::cold]] void LoopHook::Close() {
  is_open_ = false;
  run_.Reset();
  functions_.Reset();
  const auto on_closed = [](uv_handle_t* handle) { Of(handle)->Unref(); };
  for (uv_handle_t* handle :
       {AsHandle(prepare_), AsHandle(check_), AsHandle(idle_), AsHandle(timer_)}) {
    uv_close(handle, on_closed);
  }
  // If it is being closed already, OnBeforeTimersClosed() counts it.
  if (!is_closing_closable_) uv_close(AsHandle(closable_), on_closed);
}

napi_value LoopHook::WakeByJs(napi_env env, napi_callback_info info) {
  const Call<LoopHook, 0> call(env, info);
  if (call.self() != nullptr) call.self()->Wake();
  return nullptr;
}

napi_value LoopHook::IsIdleByJs(napi_env env, napi_callback_info info) {
  const Call<LoopHook, 0> call(env, info);
  LoopHook* const self = call.self();
  return self == nullptr ? nullptr : ToJs(env, self->is_open_ && self->IsLoopIdle());
}

[[gnu::cold]] napi_value LoopHook::ReportByJs(napi_env env, napi_callback_info info) {
  const Call<LoopHook, 1> call(env, info);
  if (call.self() != nullptr) (void)napi_fatal_exception(env, call[0]);
  return nullptr;
}

void LoopHook::Wake() {
  if (!is_open_) return;
  if (!is_awake_) {
    is_awake_ = true;
    cells_[kTurnCell] += 1;  // turns are not counted during the sleep
    functions_.Hold();
    turn_had_work_ = true;  // whatever it is that runs now
    (void)uv_prepare_start(&prepare_, [](uv_prepare_t* handle) { Of(handle)->OnPrepare(); });
    (void)uv_check_start(&check_, [](uv_check_t* handle) { Of(handle)->OnCheck(); });
    (void)uv_idle_start(&idle_, [](uv_idle_t*) {});
  }
  if (level() == kUrgent && !is_running_) RunBeforeTimers();
}

void LoopHook::Sleep() {
  is_awake_ = false;
  (void)uv_prepare_stop(&prepare_);
  (void)uv_check_stop(&check_);
  (void)uv_idle_stop(&idle_);
  (void)uv_timer_stop(&timer_);
  functions_.LetGo();
}

// Two ways to come before the next timers, because libuv has no phase for it. Timers run when a
// loop begins, and at the end of each turn. A timer without delay is ahead of all that are not due
// yet; the close callback of a handle is ahead of those that are.
void LoopHook::RunBeforeTimers() {
  (void)uv_timer_start(
      &timer_, [](uv_timer_t* handle) { Of(handle)->Run(kUrgent); }, 0, 0);
  if (is_closing_closable_) return;
  is_closing_closable_ = true;
  uv_close(AsHandle(closable_), [](uv_handle_t* handle) { Of(handle)->OnBeforeTimersClosed(); });
}

void LoopHook::OnBeforeTimersClosed() {
  is_closing_closable_ = false;
  if (!is_open_) return Unref();
  (void)uv_idle_init(loop_, &closable_);
  (void)AsHandle(closable_);
  if (is_awake_) Run(kUrgent);  // the cells may be gone otherwise
}

void LoopHook::OnPrepare() {
  Run(kUrgent);
  events_before_ = CountEvents();
}

void LoopHook::OnCheck() {
  cells_[kTurnCell] += 1;
  const bool had_work = turn_had_work_ || CountEvents() != events_before_;
  turn_had_work_ = false;
  const bool has_work = Run(kNormal);
  if (!had_work && !has_work) Run(kIdle);
  turn_had_work_ = false;
  if (is_open_ && level() == kNone) Sleep();
}

bool LoopHook::Run(Level min) {
  bool has_run = false;
  cells_[kRunCell] += 1;
  while (is_open_ && !is_running_ && level() >= min && CallRun(min)) has_run = true;
  turn_had_work_ = turn_had_work_ || has_run;
  return has_run;
}

bool LoopHook::IsLoopIdle() {
  uv_update_time(loop_);
  (void)uv_idle_stop(&idle_);
  const int sleep_ms = uv_backend_timeout(loop_);  // 0: something is due; -1: there is no timer
  (void)uv_idle_start(&idle_, [](uv_idle_t*) {});
  if (sleep_ms == 0) return false;
  cells_[kIdleMsCell] = sleep_ms < 0 ? kNoTimer : sleep_ms;
  const uint64_t now = uv_hrtime();
  if (now - polled_at_ < kPollInterval) return true;
  polled_at_ = now;
  pollfd backend = {uv_backend_fd(loop_), POLLIN, 0};
  return poll(&backend, 1, 0) == 0;
}

// How much I/O the loop has found so far.
uint64_t LoopHook::CountEvents() const {
  uv_metrics_t metrics{};
  (void)uv_metrics_info(loop_, &metrics);
  return metrics.events;
}

// Calls run(least); ticks and microtasks have run when this returns. False: there was nothing to
// run, or JavaScript cannot run any more.
bool LoopHook::CallRun(Level min) {
  const JsScope scope(env_);
  if (!scope.is_open()) return false;
  is_running_ = true;
  const napi_value argument = ToJs(env_, uint32_t{min});
  const CallbackOutcome outcome = CallBack(env_, JsObject(env_).result(), run_, argument);
  is_running_ = false;
  if (outcome.result == nullptr) return outcome.can_run;
  bool has_run = false;
  return Read(env_, outcome.result, has_run) && has_run;
}

}  // namespace holdfast::binding
