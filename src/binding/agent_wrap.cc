#include "binding/agent_wrap.h"

#include <utility>

#include "binding/errors.h"
#include "binding/js_builders.h"
#include "platform/clock.h"

namespace holdfast::binding {

using core::RequestEvent;

namespace {

// The longest time for events in one turn of the loop. Further events wait for the next turn, so
// that timers and I/O are served.
constexpr uint64_t kTurnNs = 4'000'000;
// The longest turn of a loop that exchanges a lock with another without sleeping. Timers and I/O
// are delayed by at most this time and one AdaptiveSpin.
constexpr uint64_t kNearTurnNs = 250'000;

}  // namespace

AgentWrap::AgentWrap(napi_env env, std::unique_ptr<core::Agent> agent, bool sweeps,
                     std::span<uint32_t> words)
    : env_(env), agent_(std::move(agent)), words_(words.data()), sweeps_(sweeps) {
  agent_->SetKeptObserver(this);
}

std::unique_ptr<AgentWrap> AgentWrap::Open(napi_env env, const core::AttachOptions& options,
                                           const uint64_t (&client_id)[2], napi_value buffer,
                                           napi_value on_events) {
  const auto fail = [env](const Status& status) {
    Throw(env, status);
    return nullptr;
  };
  std::span<uint32_t> words;
  if (!Read(env, buffer, words) || words.size() < kBufferWords) {
    Quit(env);
    return nullptr;
  }
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
    return fail(Status(StatusCode::kOsError, "this environment has no event loop"));
  }
  Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options, client_id);
  if (!agent.ok()) return fail(agent.status());
  std::unique_ptr<AgentWrap> wrap(new AgentWrap(env, std::move(*agent), options.sweeps, words));
  wrap->handles_ = LoopHandles::Open(loop, wrap->agent_->doorbell_fd(), *wrap);
  if (wrap->handles_ == nullptr) {
    return fail(Status(StatusCode::kOsError, "the doorbell cannot be watched"));
  }
  napi_value bytes = nullptr;
  if (napi_get_typedarray_info(env, buffer, nullptr, nullptr, nullptr, &bytes, nullptr) !=
          napi_ok ||
      !wrap->buffer_.Keep(env, bytes) || !wrap->on_events_.Know(env, on_events) ||
      napi_add_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, wrap.get()) != napi_ok) {
    Quit(env);
    return nullptr;
  }
  const auto close_gate = [](void* self) {
    static_cast<AgentWrap*>(self)->words_[kGateWord] = kForkedGate;
  };
  const Status guarded = wrap->fork_guard_.Register(close_gate, wrap.get());
  if (!guarded.ok()) {
    wrap->CloseAtEnd();
    return fail(guarded);
  }
  wrap->handles_->DoNotSleep(true);  // opened in another agent's turn: its own is over
  return wrap;
}

napi_value AgentWrap::GiveToJs(std::unique_ptr<AgentWrap> agent) {
  const napi_env env = agent->env_;
  const napi_value functions = agent->Functions();
  const auto free = [](napi_env, void* collected, void*) {
    const std::unique_ptr<AgentWrap> wrap(static_cast<AgentWrap*>(collected));
    wrap->CloseAtEnd();
  };
  if (functions == nullptr || !agent->functions_.Know(env, functions) ||
      napi_add_finalizer(env, functions, agent.get(), free, nullptr, nullptr) != napi_ok) {
    agent->CloseAtEnd();
    return Quit(env);
  }
  (void)agent.release();
  return functions;
}

napi_value AgentWrap::Functions() {
  JsObject functions(env_);
  const auto add = [&](const char* name, napi_callback callback) {
    functions.Set(name, ToJsFunction(env_, name, callback, this));
  };
  add("request", &AgentWrap::Request);
  add("requestAgain", &AgentWrap::RequestAgain);
  add("requestInside", &AgentWrap::RequestInside);
  add("requestInsideAgain", &AgentWrap::RequestInsideAgain);
  add("requestWithExtras", &AgentWrap::RequestWithExtras);
  add("end", &AgentWrap::End);
  add("timeOut", &AgentWrap::TimeOut);
  add("endOrKeep", &AgentWrap::EndOrKeep);
  add("dropKept", &AgentWrap::DropKept);
  add("openGate", &AgentWrap::OpenGate);
  add("view", &AgentWrap::View);
  add("tokenView", &AgentWrap::TokenView);
  add("isHeld", &AgentWrap::IsHeld);
  add("isConnected", &AgentWrap::IsConnected);
  add("readEvents", &AgentWrap::ReadEvents);
  add("readTakenEvents", &AgentWrap::ReadTakenEvents);
  add("waitFor", &AgentWrap::WaitFor);
  add("isLocked", &AgentWrap::IsLocked);
  add("holdersOf", &AgentWrap::HoldersOf);
  add("beginWaitWalk", &AgentWrap::BeginWaitWalk);
  add("goOnWaitWalk", &AgentWrap::GoOnWaitWalk);
  add("readWaitWalk", &AgentWrap::ReadWaitWalk);
  add("openWatch", &AgentWrap::OpenWatch);
  add("readWatch", &AgentWrap::ReadWatch);
  add("armWatch", &AgentWrap::ArmWatch);
  add("pauseWatch", &AgentWrap::PauseWatch);
  add("closeWatch", &AgentWrap::CloseWatch);
  add("snapshot", &AgentWrap::TakeSnapshot);
  add("inspect", &AgentWrap::Inspect);
  add("usage", &AgentWrap::Usage);
  add("lifeDescriptors", &AgentWrap::LifeDescriptors);
  add("lastError", &AgentWrap::LastError);
  add("close", &AgentWrap::CloseByJs);
  functions.Set("onEvents", on_events_.Get());
  return functions.result();
}

// Called however the environment ends.
void AgentWrap::OnEnvironmentEnd(void* self) {
  static_cast<AgentWrap*>(self)->Close(core::EndReason::kOwnerDied);
}

void AgentWrap::CloseAtEnd() {
  (void)napi_remove_env_cleanup_hook(env_, &AgentWrap::OnEnvironmentEnd, this);
  Close(core::EndReason::kOwnerDied);
}

void AgentWrap::Close(core::EndReason reason) {
  if (handles_ != nullptr) handles_->Close();
  handles_ = nullptr;
  wait_walk_.reset();
  fork_guard_.Unregister();
  if (agent_ != nullptr) CloseGate();
  // Node detaches them where the environment ends.
  for (JsReference& view : views_) view.Reset();
  token_view_.Reset();
  if (agent_ != nullptr) agent_->Close(reason);
  agent_.reset();
  events_.clear();
  next_event_ = 0;
  on_events_.Reset();
  functions_.Reset();
  buffer_.Reset();
}

void AgentWrap::OnPrepare() {
  agent_->BeginTurn();
  if (agent_->SaysThatItSleeps()) agent_->WakeUp();  // BeReachable() has said so
  CloseGate();
  handles_->DoNotSleep(false);
  if (HasToTell()) Deliver();
  const bool expects_more = agent_ != nullptr && agent_->queued() > 0 && DeliverWhatIsNear();
  if (agent_ == nullptr) return;
  // Also without a request: another agent of this loop may make requests in its turn, and grant
  // them.
  handles_->DoNotSleep(expects_more || !GoToSleep());
  if (agent_->AwaitsDoorbell() || !handles_->SleepsItself()) handles_->NoteSleep();
  LetGoIfIdle();
}

void AgentWrap::Hold() {
  if (is_held_) return;
  is_held_ = true;
  functions_.Hold();
}

// A kept name may be taken without a call while the gate is open.
void AgentWrap::LetGoIfIdle() {
  if (!is_held_ || HasToTell() || HasTaken() || !agent_->IsIdle()) return;
  CloseGate();
  is_held_ = false;
  functions_.LetGo();
}

// No peer rings during this, because the agent has not announced its sleep. True: other work of the
// loop is due, and more events may come soon.
bool AgentWrap::DeliverWhatIsNear() {
  const uint64_t end = platform::MonotonicNs() + kNearTurnNs;
  while (handles_->IsAboutToSleep() && agent_->AwaitEvents()) {
    Deliver();
    if (agent_ == nullptr) return false;
    if (platform::MonotonicNs() >= end) return true;
  }
  return false;
}

void AgentWrap::OnCheck() {
  handles_->NoteWake();
  agent_->WakeUp();
  if (HasToTell()) Deliver();
  if (agent_ != nullptr) UpdateLoop();
}

// Watchers are also rung only while the agent has announced its sleep, so it checks for watch
// events after the announcement.
bool AgentWrap::GoToSleep() { return agent_->GoToSleep() && !agent_->HasWatchNews(); }

void AgentWrap::OnDoorbell() {
  agent_->WakeUp();
  agent_->HearDoorbell();
  if (HasToTell()) Deliver();
}

void AgentWrap::OnSweep() {
  agent_->Sweep();
  if (HasToTell()) Deliver();
  if (agent_ != nullptr && agent_->in_use() == 0) handles_->Sweep(false);
}

// The loop stays alive while a request waits or has an undelivered event. An agent that waits or
// holds a lock sweeps.
void AgentWrap::UpdateLoop() {
  handles_->KeepAlive(agent_->queued() > 0 || HasToTell());
  if (sweeps_ && agent_->in_use() > 0) handles_->Sweep(true);
  if (!handles_->SleepsItself()) BeReachable();
}

// The loop may sleep without another OnPrepare(): from now on this agent says that it sleeps, so
// that it is rung. What has come already rings as well. One ring is enough until the loop has heard
// it: a thread that releases to itself, again and again, would ring itself each time.
//
// Without a wait nothing is announced, and if nothing keeps the loop alive no turn follows either:
// a doorbell that is not drained would not let the program sleep.
void AgentWrap::BeReachable() {
  if (!agent_->AwaitsDoorbell()) return agent_->DrainDoorbell();
  if (!agent_->SaysThatItSleeps() && !GoToSleep()) agent_->RingSelf();
}

void AgentWrap::Deliver() {
  const JsScope scope(env_);
  if (!scope.is_open()) return;
  // A callback may close the agent and then run the loop, in which what nobody reaches is freed.
  (void)functions_.Get();
  const uint64_t end = platform::MonotonicNs() + kTurnNs;
  do {
    TakeEvents();
    const bool tells_disconnection = !agent_->IsConnected() && !has_told_disconnection_;
    has_told_disconnection_ = !agent_->IsConnected();
    const bool tells_watchers = agent_->HasWatchNews();
    if (tells_watchers) agent_->ToldWatchNews();
    if ((tells_disconnection || tells_watchers || !events_.empty()) && !CallJs()) return;
    if (agent_ == nullptr) return;
  } while (HasToTell() && platform::MonotonicNs() < end);
  UpdateLoop();
}

void AgentWrap::TakeEvents() {
  events_.clear();
  next_event_ = 0;
  agent_->TakeEvents(events_);
}

// Calls on_events(), which reads all of it; microtasks and ticks have run when this returns. False:
// JavaScript cannot run any more.
bool AgentWrap::CallJs() {
  napi_value receiver = nullptr;
  if (napi_get_global(env_, &receiver) != napi_ok) return false;
  return CallBack(env_, receiver, on_events_).can_run;
}

// A failed request ends the batch, because lastError() describes the last failure only.
uint32_t AgentWrap::WriteEvents() {
  uint32_t count = 0;
  while (HasTaken() && count < kMaxEvents) {
    const RequestEvent& events = events_[next_event_++];
    const uint32_t at = kTokenWords + count++ * kEventWords;
    words_[at] = events.id;
    words_[at + 1] = static_cast<uint32_t>(events.kind);
    WriteToken(at + 2, events.token);
    if (events.kind != RequestEvent::Kind::kFailed) continue;
    last_error_ = events.status;
    break;
  }
  return count;
}

void AgentWrap::WriteToken(uint32_t at, uint64_t token) {
  words_[at] = static_cast<uint32_t>(token >> 32);
  words_[at + 1] = static_cast<uint32_t>(token);
}

}  // namespace holdfast::binding
