// The functions of an agent, as JavaScript calls them.

#include <algorithm>
#include <array>
#include <string>

#include "binding/agent_wrap.h"
#include "binding/errors.h"
#include "binding/name_argument.h"
#include "binding/snapshot_to_js.h"

namespace holdfast::binding {

namespace {

// The longest that a snapshot keeps the thread from running while it waits for others.
constexpr uint64_t kSnapshotTimeoutNs = 2'000'000;
constexpr double kNsPerMs = 1e6;
// More than anybody waits, and far from overflowing.
constexpr double kMaxHoldNs = 1e18;

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

uint32_t ToUint32(napi_env env, napi_value value) {
  uint32_t number = 0;
  napi_get_value_uint32(env, value, &number);
  return number;
}

// However short, it does not become nothing.
uint64_t ToNs(napi_env env, napi_value value) {
  double ms = 0;
  napi_get_value_double(env, value, &ms);
  return ms > 0 ? static_cast<uint64_t>(std::clamp(ms * kNsPerMs, 1.0, kMaxHoldNs)) : 0;
}

using ShownText = std::array<char16_t, segment::kMaxLabelUnits + 1>;

// Cut where it does not fit.
std::u16string_view ToShownText(napi_env env, napi_value value, ShownText& text) {
  size_t length = 0;
  napi_get_value_string_utf16(env, value, text.data(), text.size(), &length);
  return {text.data(), length};
}

core::LockRequest ToRequest(uint32_t flags) {
  core::LockRequest request;
  request.mode = (flags & kShared) != 0 ? LockMode::kShared : LockMode::kExclusive;
  request.if_available = (flags & kIfAvailable) != 0;
  request.steal = (flags & kSteal) != 0;
  return request;
}

Status Closed() { return Status(StatusCode::kClosed, "the lock manager is closed"); }

Status TooLong() {
  return Status(StatusCode::kSegmentFull, "the name is larger than the lock table");
}

}  // namespace

// request(name, flags) -> id << kOutcomeBits | outcome; -1: failed
napi_value AgentWrap::Request(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  self->last_name_.Read(env, arguments[0], self->MaxNameUnits());
  core::LockRequest request = ToRequest(ToUint32(env, arguments[1]));
  return ToInt(env, self->Ask(self->last_name_, request));
}

// requestAgain(flags): request() with the name that it was given last; at first, the empty one
napi_value AgentWrap::RequestAgain(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  core::LockRequest request = ToRequest(ToUint32(env, arguments[0]));
  return ToInt(env, self->Ask(self->last_name_, request));
}

// requestWithExtras(name, flags, limit, holdLimit (ms), label, high and low half of the token of
// the enclosing lock, call site) -> like request()
napi_value AgentWrap::RequestWithExtras(napi_env env, napi_callback_info info) {
  size_t count = 8;
  napi_value arguments[8];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  const NameArgument name(env, arguments[0], self->MaxNameUnits());
  core::LockRequest request = ToRequest(ToUint32(env, arguments[1]));
  request.limit = ToUint32(env, arguments[2]);
  request.hold_limit_ns = ToNs(env, arguments[3]);
  request.enclosing_token =
      uint64_t{ToUint32(env, arguments[5])} << 32 | ToUint32(env, arguments[6]);
  ShownText label{};
  ShownText call_site{};
  request.label = ToShownText(env, arguments[4], label);
  request.call_site = ToShownText(env, arguments[7], call_site);
  return ToInt(env, self->Ask(name, request));
}

int32_t AgentWrap::Ask(const NameArgument& name, core::LockRequest& request) {
  if (agent_ == nullptr) return Fail(Closed());
  if (!name.fits()) return Fail(TooLong());
  const Result<core::Agent::Answer> answer = agent_->Request(name.name(), request);
  if (!answer.ok()) return Fail(answer.status());
  WriteToken(0, answer->token);
  UpdateLoop();
  return static_cast<int32_t>(answer->id << kOutcomeBits | static_cast<uint32_t>(answer->outcome));
}

// A name that could never fit is refused before it is copied.
uint64_t AgentWrap::MaxNameUnits() const {
  return agent_ == nullptr ? 0 : agent_->capacity() / sizeof(char16_t);
}

int32_t AgentWrap::Fail(const Status& status) {
  last_error_ = status;
  return -1;
}

// end(id) -> 0, or how the lock had been lost already: LOSS_STOLEN, LOSS_EXPIRED; with HAS_EVENTS
// when a request of this agent that waited has heard something, as a rule of its grant
napi_value AgentWrap::End(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  if (self->agent_ == nullptr) return ToInt(env, 0);
  const core::Loss loss = self->agent_->End(ToUint32(env, arguments[0]));
  self->UpdateLoop();
  const bool has_events = self->agent_->queued() > 0 && self->agent_->HasEvents();
  return ToInt(env,
               static_cast<int32_t>(static_cast<uint32_t>(loss) | (has_events ? kHasEvents : 0)));
}

// timeOut(id): the end of a queued request whose time to wait is over
napi_value AgentWrap::TimeOut(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  if (self->agent_ != nullptr) {
    (void)self->agent_->End(ToUint32(env, arguments[0]), core::EndReason::kTimedOut);
    self->UpdateLoop();
  }
  return Napi::Env(env).Undefined();
}

// isHeld(id) -> boolean: granted, and JavaScript knows it
napi_value AgentWrap::IsHeld(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  const AgentWrap* const self = SelfOf(env, info, &count, arguments);
  const bool is_held = self->agent_ != nullptr && self->agent_->IsHeld(ToUint32(env, arguments[0]));
  return Napi::Boolean::New(env, is_held);
}

// isLocked(name, least) -> 0 or 1; -1: failed
napi_value AgentWrap::IsLocked(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  if (self->agent_ == nullptr) return ToInt(env, self->Fail(Closed()));
  const NameArgument name(env, arguments[0], self->MaxNameUnits());
  if (!name.fits()) return ToInt(env, 0);
  const Result<bool> is_locked = self->agent_->IsLocked(name.name(), ToUint32(env, arguments[1]));
  if (!is_locked.ok()) return ToInt(env, self->Fail(is_locked.status()));
  return ToInt(env, *is_locked ? 1 : 0);
}

// waitFor(id, ms) -> the kind of the events about a queued request (EVENT_FAILED: see lastError()),
// its token in the first words of the buffer; -1: none came. Events about other requests is for
// readEvents(), before anything else is called. Blocks the thread, and nothing ends the wait: `ms`
// is to be short.
napi_value AgentWrap::WaitFor(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  if (self->agent_ == nullptr) return ToInt(env, -1);
  const uint64_t timeout_ns = ToNs(env, arguments[1]);
  self->events_.clear();
  self->next_event_ = 0;
  const auto events = self->agent_->WaitFor(ToUint32(env, arguments[0]), timeout_ns, self->events_);
  self->agent_->Sweep();
  self->UpdateLoop();
  if (!events.has_value()) return ToInt(env, -1);
  if (events->kind == core::RequestEvent::Kind::kFailed) self->last_error_ = events->status;
  self->WriteToken(0, events->token);
  return ToInt(env, static_cast<int32_t>(events->kind));
}

// wouldSelfDeadlock(id) -> boolean: this thread would have to give something back first
napi_value AgentWrap::WouldSelfDeadlock(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  const bool waits =
      self->agent_ != nullptr && self->agent_->WouldSelfDeadlock(ToUint32(env, arguments[0]));
  return Napi::Boolean::New(env, waits);
}

// isConnected() -> boolean: false once the lock table was removed or replaced
napi_value AgentWrap::IsConnected(napi_env env, napi_callback_info info) {
  const AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  return Napi::Boolean::New(env, self->agent_ != nullptr && self->agent_->IsConnected());
}

// readEvents() -> how many pieces of events are in the buffer now << COUNT_SHIFT, with MORE_EVENTS
// and DISCONNECTED. Events that comes from now on is told in the loop's turn.
napi_value AgentWrap::ReadEvents(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info, nullptr, nullptr);
  if (self->agent_ == nullptr) return ToInt(env, 0);
  const uint32_t count = self->WriteEvents();
  self->UpdateLoop();
  const bool has_more = self->next_event_ < self->events_.size() || self->agent_->HasEvents();
  const uint32_t more = has_more ? kMoreEvents : 0;
  const uint32_t disconnected = self->agent_->IsConnected() ? 0 : kDisconnected;
  return ToInt(env, static_cast<int32_t>(count << kCountShift | more | disconnected));
}

// snapshot() -> see snapshot_to_js.h; null: others are in the way, ask again; undefined: failed
napi_value AgentWrap::TakeSnapshot(napi_env env, napi_callback_info info) {
  return SelfOf(env, info, nullptr, nullptr)->View(env, &InfosToJs);
}

// inspect() -> the same with details
napi_value AgentWrap::Inspect(napi_env env, napi_callback_info info) {
  return SelfOf(env, info, nullptr, nullptr)->View(env, &DetailsToJs);
}

napi_value AgentWrap::View(Napi::Env env, Napi::Array (*to_js)(Napi::Env, const core::Snapshot&)) {
  if (agent_ == nullptr) {
    last_error_ = Closed();
    return env.Undefined();
  }
  const Result<core::Snapshot> snapshot = agent_->TakeSnapshot(kSnapshotTimeoutNs);
  if (snapshot.ok()) return to_js(env, *snapshot);
  if (snapshot.status().code() == StatusCode::kBusy) return env.Null();
  last_error_ = snapshot.status();
  return env.Undefined();
}

napi_value AgentWrap::LastError(napi_env env, napi_callback_info info) {
  return ToJs(Napi::Env(env), SelfOf(env, info, nullptr, nullptr)->last_error_);
}

// close(isEnd): the thread is about to end, or gives everything back
napi_value AgentWrap::CloseByJs(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arguments[1];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  if (self->agent_ != nullptr) {
    bool is_end = false;
    napi_get_value_bool(env, arguments[0], &is_end);
    napi_remove_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, self);
    self->Close(is_end ? core::EndReason::kOwnerDied : core::EndReason::kReleased);
  }
  return Napi::Env(env).Undefined();
}

}  // namespace holdfast::binding
