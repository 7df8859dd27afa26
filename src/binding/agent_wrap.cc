#include "binding/agent_wrap.h"

#include <array>
#include <string>
#include <utility>

#include "binding/errors.h"
#include "binding/snapshot_to_js.h"
#include "platform/clock.h"

namespace holdfast::binding {

using core::AgentNews;

namespace {

// News may take this long in one turn of the loop; the rest waits for the next, so that timers and
// I/O get their turn.
constexpr uint64_t kTurnNs = 4'000'000;
// The longest that a snapshot keeps the thread from running while it waits for others.
constexpr uint64_t kSnapshotBudgetNs = 2'000'000;
// Names up to this length need no memory of their own on the way.
constexpr size_t kShortName = 128;

AgentWrap* SelfOf(napi_env env, napi_callback_info info, size_t* count, napi_value* arguments) {
  void* self = nullptr;
  napi_get_cb_info(env, info, count, arguments, nullptr, &self);
  return static_cast<AgentWrap*>(self);
}

napi_value ToInt(napi_env env, int32_t value) {
  napi_value result = nullptr;
  napi_create_int32(env, value, &result);
  return result;
}

Status Closed() { return Status(StatusCode::kClosed, "the lock manager is closed"); }

}  // namespace

AgentWrap::AgentWrap(Napi::Env env, std::unique_ptr<core::Agent> agent, bool sweeps,
                     Napi::Uint32Array buffer, Napi::Function on_news)
    : env_(env),
      agent_(std::move(agent)),
      buffer_(Napi::Persistent(buffer)),
      words_(buffer.Data()),
      on_news_(Napi::Persistent(on_news)),
      sweeps_(sweeps) {}

std::unique_ptr<AgentWrap> AgentWrap::Open(Napi::Env env, const core::AttachOptions& options,
                                           const uint64_t (&client_id)[2], Napi::Uint32Array buffer,
                                           Napi::Function on_news) {
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
      new AgentWrap(env, std::move(*agent), options.sweeps, buffer, on_news));
  wrap->handles_ = LoopHandles::Open(loop, wrap->agent_->doorbell_fd(), *wrap);
  if (wrap->handles_ == nullptr) {
    return fail(Status(StatusCode::kOsError, "the doorbell cannot be watched"));
  }
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
  add("end", &AgentWrap::End);
  add("isHeld", &AgentWrap::IsHeld);
  add("isConnected", &AgentWrap::IsConnected);
  add("readNews", &AgentWrap::ReadNews);
  add("snapshot", &AgentWrap::TakeSnapshot);
  add("lastError", &AgentWrap::LastError);
  add("close", &AgentWrap::CloseByJs);
  return functions;
}

// request(name, flags) -> id << kOutcomeBits | outcome; -1: failed
napi_value AgentWrap::Request(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  uint32_t flags = 0;
  napi_get_value_uint32(env, arguments[1], &flags);
  // Written before it is read: clearing it would cost as much as the rest.
  std::array<char16_t, kShortName> short_name;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  size_t length = 0;
  napi_get_value_string_utf16(env, arguments[0], short_name.data(), kShortName, &length);
  if (length < kShortName - 1) return ToInt(env, self->Ask(short_name.data(), length, flags));
  napi_get_value_string_utf16(env, arguments[0], nullptr, 0, &length);
  if (!self->CanHold(length)) return ToInt(env, -1);
  std::u16string name(length, u'\0');
  napi_get_value_string_utf16(env, arguments[0], name.data(), length + 1, &length);
  return ToInt(env, self->Ask(name.data(), length, flags));
}

// A name that could never fit is refused before it is copied.
bool AgentWrap::CanHold(size_t units) {
  if (agent_ == nullptr || units * sizeof(char16_t) <= agent_->capacity()) return true;
  last_error_ = Status(StatusCode::kSegmentFull, "the name is larger than the lock table");
  return false;
}

int32_t AgentWrap::Ask(const char16_t* units, size_t length, uint32_t flags) {
  if (agent_ == nullptr) {
    last_error_ = Closed();
    return -1;
  }
  const segment::ResourceName name(units, static_cast<uint32_t>(length));
  const Result<core::Agent::Answer> answer =
      agent_->Request(name, (flags & kShared) != 0 ? LockMode::kShared : LockMode::kExclusive,
                      (flags & kIfAvailable) != 0, (flags & kSteal) != 0);
  if (!answer.ok()) {
    last_error_ = answer.status();
    return -1;
  }
  WriteToken(0, answer->token);
  UpdateLoop();
  return static_cast<int32_t>(answer->id << kOutcomeBits | static_cast<uint32_t>(answer->outcome));
}

// end(id) -> 1 when the lock had been lost already, else 0
napi_value AgentWrap::End(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  uint32_t id = 0;
  napi_get_value_uint32(env, arguments[0], &id);
  if (self->agent_ == nullptr) return ToInt(env, 0);
  const bool was_lost = self->agent_->End(id);
  self->UpdateLoop();
  return ToInt(env, was_lost ? 1 : 0);
}

// isHeld(id) -> boolean: granted, and JavaScript knows it
napi_value AgentWrap::IsHeld(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  const AgentWrap* const self = SelfOf(env, info, &count, arguments);
  uint32_t id = 0;
  napi_get_value_uint32(env, arguments[0], &id);
  return Napi::Boolean::New(env, self->agent_ != nullptr && self->agent_->IsHeld(id));
}

// isConnected() -> boolean: false once the lock table was removed or replaced
napi_value AgentWrap::IsConnected(napi_env env, napi_callback_info info) {
  const AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  return Napi::Boolean::New(env, self->agent_ != nullptr && self->agent_->IsConnected());
}

// readNews() -> how many pieces of news are in the buffer now; 0: that was all
napi_value AgentWrap::ReadNews(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  return ToInt(env, self->agent_ == nullptr ? 0 : static_cast<int32_t>(self->WriteNews()));
}

// snapshot() -> see snapshot_to_js.h; null: others are in the way, ask again; undefined: failed
napi_value AgentWrap::TakeSnapshot(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  if (self->agent_ == nullptr) {
    self->last_error_ = Closed();
    return Napi::Env(env).Undefined();
  }
  const Result<core::Snapshot> snapshot = self->agent_->TakeSnapshot(kSnapshotBudgetNs);
  if (snapshot.ok()) return ToJs(env, *snapshot);
  if (snapshot.status().code() == StatusCode::kBusy) return Napi::Env(env).Null();
  self->last_error_ = snapshot.status();
  return Napi::Env(env).Undefined();
}

napi_value AgentWrap::LastError(napi_env env, napi_callback_info info) {
  return ToJs(Napi::Env(env), SelfOf(env, info, nullptr, nullptr)->last_error_);
}

napi_value AgentWrap::CloseByJs(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  if (self->agent_ != nullptr) {
    napi_remove_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, self);
    self->Close();
  }
  return Napi::Env(env).Undefined();
}

// The environment ends, in whatever way: what this agent has asked for or holds ends with it.
void AgentWrap::OnEnvironmentEnd(void* self) { static_cast<AgentWrap*>(self)->Close(); }

void AgentWrap::Close() {
  if (handles_ != nullptr) handles_->Close();
  handles_ = nullptr;
  agent_.reset();
  news_.clear();
  next_news_ = 0;
  on_news_.Reset();
  buffer_.Reset();
}

void AgentWrap::OnPrepare() {
  agent_->BeginTurn();
  if (HasToTell()) Deliver();
  if (agent_ == nullptr) return;
  // Without a request nobody has news for this agent, and nobody needs to know that it sleeps.
  handles_->DoNotSleep(agent_->in_use() > 0 && !agent_->GoToSleep());
}

void AgentWrap::OnCheck() {
  if (agent_->in_use() > 0) agent_->WakeUp();
  if (HasToTell()) Deliver();
}

void AgentWrap::OnBell() {
  agent_->WakeUp();
  agent_->DrainBell();
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
    news_.clear();
    next_news_ = 0;
    agent_->TakeNews(news_);
    const bool tells_disconnection = !agent_->IsConnected() && !has_told_disconnection_;
    has_told_disconnection_ = !agent_->IsConnected();
    if ((tells_disconnection || !news_.empty()) && !CallJs()) return;
    if (agent_ == nullptr) return;
  } while (HasToTell() && platform::MonotonicNs() < end);
  UpdateLoop();
}

// Calls on_news(), which reads all of it; microtasks and ticks have run when this returns. False:
// JavaScript cannot run any more.
bool AgentWrap::CallJs() {
  napi_value result = nullptr;
  const napi_status status =
      napi_make_callback(env_, nullptr, env_.Global(), on_news_.Value(), 0, nullptr, &result);
  if (status == napi_pending_exception) {
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
      napi_fatal_exception(env_, error);
    }
  }
  return status == napi_ok || status == napi_pending_exception;
}

// A failure ends the batch: lastError() tells of the last one.
uint32_t AgentWrap::WriteNews() {
  uint32_t count = 0;
  while (next_news_ < news_.size() && count < kMostNews) {
    const AgentNews& news = news_[next_news_++];
    const uint32_t at = kTokenWords + count++ * kNewsWords;
    words_[at] = news.id;
    words_[at + 1] = static_cast<uint32_t>(news.kind);
    WriteToken(at + 2, news.token);
    if (news.kind != AgentNews::Kind::kFailed) continue;
    last_error_ = news.status;
    break;
  }
  return count;
}

void AgentWrap::WriteToken(uint32_t at, uint64_t token) {
  words_[at] = static_cast<uint32_t>(token >> 32);
  words_[at + 1] = static_cast<uint32_t>(token);
}

}  // namespace holdfast::binding
