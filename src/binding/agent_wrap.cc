#include "binding/agent_wrap.h"

#include <utility>

#include "binding/errors.h"
#include "platform/clock.h"

namespace holdfast::binding {

using core::RequestEvent;

namespace {

// Events may take this long in one turn of the loop; the rest waits for the next, so that timers
// and I/O get their turn.
constexpr uint64_t kTurnNs = 4'000'000;
// A loop that hands a lock to and fro without ever sleeping comes round after this time: timers and
// I/O are late by no more, and by one AdaptiveSpin.
constexpr uint64_t kNearTurnNs = 250'000;

}  // namespace

AgentWrap::AgentWrap(Napi::Env env, std::unique_ptr<core::Agent> agent, bool sweeps,
                     Napi::Uint32Array buffer, Napi::Function on_events)
    : env_(env),
      agent_(std::move(agent)),
      buffer_(Napi::Persistent(buffer)),
      words_(buffer.Data()),
      on_events_(Napi::Persistent(on_events)),
      sweeps_(sweeps) {}

std::unique_ptr<AgentWrap> AgentWrap::Open(Napi::Env env, const core::AttachOptions& options,
                                           const uint64_t (&client_id)[2], Napi::Uint32Array buffer,
                                           Napi::Function on_events) {
  const auto fail = [env](const Status& status) {
    napi_throw(env, ToJs(env, status));
    return nullptr;
  };
  Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options, client_id);
  if (!agent.ok()) return fail(agent.status());
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
    return fail(Status(StatusCode::kOsError, "this environment has no event loop"));
  }
  std::unique_ptr<AgentWrap> wrap(
      new AgentWrap(env, std::move(*agent), options.sweeps, buffer, on_events));
  wrap->handles_ = LoopHandles::Open(loop, wrap->agent_->doorbell_fd(), *wrap);
  if (wrap->handles_ == nullptr) {
    return fail(Status(StatusCode::kOsError, "the doorbell cannot be watched"));
  }
  wrap->handles_->DoNotSleep(true);  // opened in a turn of another agent: its own has gone by
  napi_add_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, wrap.get());
  return wrap;
}

Napi::Object AgentWrap::Functions(Napi::Env env) {
  Napi::Object functions = Napi::Object::New(env);
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, this, &function);
    functions.Set(name, Napi::Value(env, function));
  };
  add("request", &AgentWrap::Request);
  add("requestAgain", &AgentWrap::RequestAgain);
  add("requestWithExtras", &AgentWrap::RequestWithExtras);
  add("end", &AgentWrap::End);
  add("timeOut", &AgentWrap::TimeOut);
  add("isHeld", &AgentWrap::IsHeld);
  add("isConnected", &AgentWrap::IsConnected);
  add("readEvents", &AgentWrap::ReadEvents);
  add("waitFor", &AgentWrap::WaitFor);
  add("wouldSelfDeadlock", &AgentWrap::WouldSelfDeadlock);
  add("isLocked", &AgentWrap::IsLocked);
  add("openWatch", &AgentWrap::OpenWatch);
  add("readWatch", &AgentWrap::ReadWatch);
  add("closeWatch", &AgentWrap::CloseWatch);
  add("snapshot", &AgentWrap::TakeSnapshot);
  add("inspect", &AgentWrap::Inspect);
  add("usage", &AgentWrap::Usage);
  add("lifeDescriptors", &AgentWrap::LifeDescriptors);
  add("lastError", &AgentWrap::LastError);
  add("close", &AgentWrap::CloseByJs);
  return functions;
}

// The environment ends, in whatever way: what this agent has asked for or holds ends with it.
void AgentWrap::OnEnvironmentEnd(void* self) {
  static_cast<AgentWrap*>(self)->Close(core::EndReason::kOwnerDied);
}

void AgentWrap::Close(core::EndReason reason) {
  if (handles_ != nullptr) handles_->Close();
  handles_ = nullptr;
  if (agent_ != nullptr) agent_->Close(reason);
  agent_.reset();
  events_.clear();
  next_event_ = 0;
  on_events_.Reset();
  buffer_.Reset();
}

void AgentWrap::OnPrepare() {
  agent_->BeginTurn();
  handles_->DoNotSleep(false);
  if (HasToTell()) Deliver();
  const bool expects_more = agent_ != nullptr && agent_->queued() > 0 && DeliverWhatIsNear();
  if (agent_ == nullptr) return;
  // Without a request, too: another agent of this loop may make some in its turn, and grant them.
  handles_->DoNotSleep(expects_more || !agent_->GoToSleep());
}

// Nobody rings meanwhile, because this agent does not say that it sleeps. True: it is time for the
// others in the loop, and more may come soon.
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
  agent_->WakeUp();
  if (HasToTell()) Deliver();
}

void AgentWrap::OnDoorbell() {
  agent_->WakeUp();
  agent_->DrainDoorbell();
  if (HasToTell()) Deliver();
}

void AgentWrap::OnSweep() {
  agent_->Sweep();
  if (HasToTell()) Deliver();
  if (agent_ != nullptr && agent_->in_use() == 0) handles_->Sweep(false);
}

// The loop lives as long as something waits, or has been decided and is still to be told. Whoever
// waits or holds sweeps.
void AgentWrap::UpdateLoop() {
  handles_->KeepAlive(agent_->queued() > 0 || HasToTell());
  if (sweeps_ && agent_->in_use() > 0) handles_->Sweep(true);
}

void AgentWrap::Deliver() {
  const Napi::HandleScope scope(env_);
  const uint64_t end = platform::MonotonicNs() + kTurnNs;
  do {
    TakeEvents();
    const bool tells_disconnection = !agent_->IsConnected() && !has_told_disconnection_;
    has_told_disconnection_ = !agent_->IsConnected();
    if ((tells_disconnection || !events_.empty()) && !CallJs()) return;
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
  napi_value result = nullptr;
  const napi_status status =
      napi_make_callback(env_, nullptr, env_.Global(), on_events_.Value(), 0, nullptr, &result);
  if (status == napi_pending_exception) {
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
      napi_fatal_exception(env_, error);
    }
  }
  return status == napi_ok || status == napi_pending_exception;
}

// A failure ends the batch: lastError() tells of the last one.
uint32_t AgentWrap::WriteEvents() {
  if (next_event_ == events_.size()) TakeEvents();
  uint32_t count = 0;
  while (next_event_ < events_.size() && count < kMaxEvents) {
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
