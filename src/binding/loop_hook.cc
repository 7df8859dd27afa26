#include "binding/loop_hook.h"

#include <poll.h>

#include <initializer_list>
#include <iterator>

namespace holdfast::binding {

namespace {

// The length of an idle period in a loop without timers, in ms: as good as for ever.
constexpr double kNoTimer = 1e9;
// How often the system is asked for I/O between idle work, in ns: to ask takes as long as a task.
constexpr uint64_t kLookInterval = 20'000;

}  // namespace

LoopHook::LoopHook(Napi::Env env, Napi::Float64Array cells, Napi::Function run)
    : env_(env),
      cells_reference_(Napi::Persistent(cells)),
      cells_(cells.Data()),
      run_(Napi::Persistent(run)) {}

Napi::Value LoopHook::Open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
    Napi::Error::New(env, "this environment has no event loop").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  auto* const hook =
      new LoopHook(env, info[0].As<Napi::Float64Array>(), info[1].As<Napi::Function>());
  hook->Init(loop);
  const napi_property_descriptor functions[] = {
      {"wake", nullptr, &LoopHook::WakeByJs, nullptr, nullptr, nullptr, napi_enumerable, hook},
      {"isIdle", nullptr, &LoopHook::IsIdleByJs, nullptr, nullptr, nullptr, napi_enumerable, hook},
      {"report", nullptr, &LoopHook::ReportByJs, nullptr, nullptr, nullptr, napi_enumerable, hook},
  };
  Napi::Object object = Napi::Object::New(env);
  if (napi_add_env_cleanup_hook(env, &LoopHook::OnEnvironmentEnd, hook) != napi_ok ||
      napi_define_properties(env, object, std::size(functions), functions) != napi_ok) {
    napi_remove_env_cleanup_hook(env, &LoopHook::OnEnvironmentEnd, hook);
    hook->Close();
    Napi::Error::New(env, "this environment is ending").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  return object;
}

// None of these can fail.
void LoopHook::Init(uv_loop_t* loop) {
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
  open_handles_ = 5;
}

// The environment ends, in whatever way: nothing is called any more.
void LoopHook::OnEnvironmentEnd(void* self) { static_cast<LoopHook*>(self)->Close(); }

void LoopHook::Close() {
  is_open_ = false;
  run_.Reset();
  cells_reference_.Reset();
  const auto on_closed = [](uv_handle_t* handle) {
    LoopHook* const hook = Of(handle);
    if (--hook->open_handles_ == 0) delete hook;
  };
  for (uv_handle_t* handle :
       {AsHandle(prepare_), AsHandle(check_), AsHandle(idle_), AsHandle(timer_)}) {
    uv_close(handle, on_closed);
  }
  // Where it is being closed already, OnBeforeTimersClosed() counts it.
  if (!is_closing_closable_) uv_close(AsHandle(closable_), on_closed);
}

napi_value LoopHook::WakeByJs(napi_env env, napi_callback_info info) {
  void* self = nullptr;
  if (napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &self) == napi_ok) {
    static_cast<LoopHook*>(self)->Wake();
  }
  return nullptr;
}

napi_value LoopHook::IsIdleByJs(napi_env env, napi_callback_info info) {
  void* self = nullptr;
  if (napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &self) != napi_ok) return nullptr;
  auto* const hook = static_cast<LoopHook*>(self);
  napi_value result = nullptr;
  (void)napi_get_boolean(env, hook->is_open_ && hook->IsLoopIdle(), &result);
  return result;
}

napi_value LoopHook::ReportByJs(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value error = nullptr;
  if (napi_get_cb_info(env, info, &count, &error, nullptr, nullptr) == napi_ok) {
    (void)napi_fatal_exception(env, error);
  }
  return nullptr;
}

void LoopHook::Wake() {
  if (!is_open_) return;
  if (!is_awake_) {
    is_awake_ = true;
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
}

// Two ways to come before the next timers, because libuv has no phase for it: timers run when a
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
  if (!is_open_) {
    if (--open_handles_ == 0) delete this;
    return;
  }
  (void)uv_idle_init(loop_, &closable_);
  (void)AsHandle(closable_);
  Run(kUrgent);
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
  if (now - looked_at_ < kLookInterval) return true;
  looked_at_ = now;
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
  const Napi::HandleScope scope(env_);
  is_running_ = true;
  const napi_value argument = Napi::Number::New(env_, static_cast<double>(min));
  napi_value result = nullptr;
  const napi_status status = napi_make_callback(env_, nullptr, Napi::Object::New(env_),
                                                run_.Value(), 1, &argument, &result);
  is_running_ = false;
  if (status == napi_pending_exception) {
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) != napi_ok) return false;
    return napi_fatal_exception(env_, error) == napi_ok;
  }
  bool has_run = false;
  return status == napi_ok && napi_get_value_bool(env_, result, &has_run) == napi_ok && has_run;
}

}  // namespace holdfast::binding
