// The functions of an agent, as JavaScript calls them.

#include <algorithm>
#include <array>
#include <string>

#include "binding/agent_wrap.h"
#include "binding/errors.h"
#include "binding/js_values.h"
#include "binding/name_argument.h"
#include "binding/snapshot_to_js.h"
#include "platform/clock.h"

namespace holdfast::binding {

namespace {

// A snapshot that meets a locked shard is not kept waiting: lib tries again a little later.
constexpr uint64_t kSnapshotTimeoutNs = 0;
// Longer than any real limit, and far from overflowing.
constexpr double kMaxHoldNs = 1e18;

// A limit above 0 stays above 0, however short it is.
bool ReadMs(napi_env env, napi_value value, uint64_t& ns) {
  double ms = 0;
  if (!Read(env, value, ms)) return false;
  ns = ms > 0
           ? static_cast<uint64_t>(std::clamp(ms * static_cast<double>(kNsPerMs), 1.0, kMaxHoldNs))
           : 0;
  return true;
}

bool ReadToken(napi_env env, napi_value high_half, napi_value low_half, uint64_t& token) {
  uint32_t high = 0;
  uint32_t low = 0;
  if (!Read(env, high_half, high) || !Read(env, low_half, low)) return false;
  token = uint64_t{high} << 32 | low;
  return true;
}

// A text for display, cut if it does not fit.
class ShownText {
 public:
  bool Read(napi_env env, napi_value value) {
    return napi_get_value_string_utf16(env, value, units_.data(), units_.size(), &length_) ==
           napi_ok;
  }
  std::u16string_view text() const { return {units_.data(), length_}; }

 private:
  std::array<char16_t, segment::kMaxLabelUnits + 1> units_{};
  size_t length_ = 0;
};

core::LockRequest ToRequest(uint32_t flags) {
  core::LockRequest request;
  request.mode = (flags & kShared) != 0 ? LockMode::kShared : LockMode::kExclusive;
  request.if_available = (flags & kIfAvailable) != 0;
  request.steal = (flags & kSteal) != 0;
  return request;
}

Status TooLong() {
  return Status(StatusCode::kSegmentFull, "the name is larger than the lock table");
}

}  // namespace

// request(name, flags) -> id << kOutcomeBits | outcome; -1: failed
napi_value AgentWrap::Request(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t flags = 0;
  if (self == nullptr || !self->last_name_.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], flags)) {
    return Quit(env);
  }
  core::LockRequest request = ToRequest(flags);
  return ToJs(env, self->Ask(self->last_name_, request));
}

// requestAgain(flags): request() with the name of the last call; at first, the empty name
napi_value AgentWrap::RequestAgain(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t flags = 0;
  if (self == nullptr || !Read(env, call[0], flags)) return Quit(env);
  core::LockRequest request = ToRequest(flags);
  return ToJs(env, self->Ask(self->last_name_, request));
}

// requestInside(name, flags, high and low half of the token of the enclosing lock): request() with
// this extra alone, which a request in a callback has
napi_value AgentWrap::RequestInside(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 4> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr || !self->last_name_.Read(env, call[0], self->MaxNameUnits())) {
    return Quit(env);
  }
  return self->AskInside(env, call[1], call[2], call[3]);
}

// requestInsideAgain(flags, high and low half of the token): the same with the name of the last
// call
napi_value AgentWrap::RequestInsideAgain(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 3> call(env, info);
  return call.self() == nullptr ? Quit(env)
                                : call.self()->AskInside(env, call[0], call[1], call[2]);
}

napi_value AgentWrap::AskInside(napi_env env, napi_value flags_value, napi_value high,
                                napi_value low) {
  uint32_t flags = 0;
  uint64_t token = 0;
  if (!Read(env, flags_value, flags) || !ReadToken(env, high, low, token)) return Quit(env);
  core::LockRequest request = ToRequest(flags);
  request.enclosing_token = token;
  return ToJs(env, Ask(last_name_, request));
}

// requestWithExtras(name, flags, limit, holdLimit (ms), label, high and low half of the token of
// the enclosing lock, call site) -> like request()
napi_value AgentWrap::RequestWithExtras(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 8> call(env, info);
  AgentWrap* const self = call.self();
  NameArgument name;
  ShownText label;
  ShownText call_site;
  uint32_t flags = 0;
  if (self == nullptr || !name.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], flags)) {
    return Quit(env);
  }
  core::LockRequest request = ToRequest(flags);
  if (!Read(env, call[2], request.limit) || !ReadMs(env, call[3], request.hold_limit_ns) ||
      !label.Read(env, call[4]) || !ReadToken(env, call[5], call[6], request.enclosing_token) ||
      !call_site.Read(env, call[7])) {
    return Quit(env);
  }
  request.label = label.text();
  request.call_site = call_site.text();
  return ToJs(env, self->Ask(name, request));
}

int32_t AgentWrap::Ask(const NameArgument& name, core::LockRequest& request) {
  if (agent_ == nullptr) return Fail(Closed());
  if (!name.fits()) return Fail(TooLong());
  Hold();
  const Result<core::Agent::Answer> answer = agent_->Request(name.name(), request);
  if (!answer.ok()) return Fail(answer.status());
  WriteToken(0, answer->token);
  UpdateLoop();
  return static_cast<int32_t>(answer->id << kOutcomeBits | static_cast<uint32_t>(answer->outcome));
}

// Names that can never fit are refused before they are copied.
uint64_t AgentWrap::MaxNameUnits() const {
  return agent_ == nullptr ? 0 : agent_->capacity() / sizeof(char16_t);
}

int32_t AgentWrap::Fail(const Status& status) {
  last_error_ = status;
  return -1;
}

// end(id) -> 0, or how the lock had been lost: LOSS_STOLEN, LOSS_EXPIRED, LOSS_DAMAGED;
// LOSS_UNKNOWN: a later event tells (EVENT_RELEASED: it was not lost), and the id stays in use
// until then. HAS_EVENTS is added when a waiting request of this agent has an event, usually its
// grant
napi_value AgentWrap::End(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, 0);
  const core::Loss loss = self->agent_->End(id);
  self->UpdateLoop();
  return ToJs(env, self->AnswerOf(loss));
}

uint32_t AgentWrap::AnswerOf(core::Loss loss) const {
  const bool has_events = agent_->queued() > 0 && agent_->HasEvents();
  return static_cast<uint32_t>(loss) | (has_events ? kHasEvents : 0);
}

// timeOut(id): ends a queued request whose timeout has passed
napi_value AgentWrap::TimeOut(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  self->agent_->Abandon(id, core::EndReason::kTimedOut);
  self->UpdateLoop();
  return nullptr;
}

// isHeld(id) -> boolean: granted, and JavaScript was told
napi_value AgentWrap::IsHeld(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  const AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  return ToJs(env, self->agent_ != nullptr && self->agent_->IsHeld(id));
}

// isLocked(name, least) -> 0 or 1; -1: failed
napi_value AgentWrap::IsLocked(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  NameArgument name;
  uint32_t min = 0;
  if (self == nullptr || !name.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], min)) {
    return Quit(env);
  }
  if (self->agent_ == nullptr) return ToJs(env, self->Fail(Closed()));
  if (!name.fits()) return ToJs(env, 0);
  const Result<bool> is_locked = self->agent_->IsLocked(name.name(), min);
  if (!is_locked.ok()) return ToJs(env, self->Fail(is_locked.status()));
  return ToJs(env, *is_locked ? 1 : 0);
}

// waitFor(id, ms) -> the kind of the event of a queued request (EVENT_FAILED: see lastError()),
// with its token in the first words of the buffer, and HAS_OTHERS when there is more to read;
// -1: none came; SELF_DEADLOCK: this thread would have to release a lock or end a request
// first. After these two readTakenEvents() has to be called next, after HAS_OTHERS readEvents().
// Blocks the thread, and nothing interrupts the wait: `ms` must be short.
//
// Looks for the deadlock when it is about to sleep: the look enters the shard, where the agent that
// is about to grant this request needs it.
napi_value AgentWrap::WaitFor(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  uint64_t timeout_ns = 0;
  if (self == nullptr || !Read(env, call[0], id) || !ReadMs(env, call[1], timeout_ns)) {
    return Quit(env);
  }
  return ToJs(env, self->agent_ == nullptr ? kNoEvent : self->WaitFor(id, timeout_ns));
}

int32_t AgentWrap::WaitFor(uint32_t id, uint64_t timeout_ns) {
  events_.clear();
  next_event_ = 0;
  std::optional<core::RequestEvent> event;
  bool is_deadlock = false;
  if (timeout_ns > 0) event = agent_->LookFor(id, events_);
  if (!event.has_value()) {
    is_deadlock = agent_->WouldSelfDeadlock(id);
    if (!is_deadlock) event = agent_->WaitFor(id, timeout_ns, events_);
  }
  if (event.has_value()) {
    agent_->SweepIfDue();
  } else {
    agent_->Sweep();
  }
  UpdateLoop();
  if (!event.has_value()) return is_deadlock ? kSelfDeadlock : kNoEvent;
  if (event->kind == core::RequestEvent::Kind::kFailed) last_error_ = event->status;
  WriteToken(0, event->token);
  const bool has_others = HasTaken() || HasToTell();
  return static_cast<int32_t>(event->kind) | (has_others ? kHasOthers : 0);
}

// isConnected() -> boolean: false once the lock table was removed or replaced
napi_value AgentWrap::IsConnected(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  const AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  return ToJs(env, self->agent_ != nullptr && self->agent_->IsConnected());
}

// readEvents() -> the number of events in the buffer << COUNT_SHIFT, with MORE_EVENTS and
// DISCONNECTED. Later events are delivered in a turn of the loop.
napi_value AgentWrap::ReadEvents(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, 0);
  if (!self->HasTaken()) self->TakeEvents();
  const uint32_t count = self->WriteEvents();
  self->UpdateLoop();
  const bool has_more = self->HasTaken() || self->agent_->HasEvents();
  return ToJs(env, self->AnswerOf(count, has_more));
}

// readTakenEvents() -> like readEvents(), of the events that waitFor() has taken. What has come
// since may be what the next waitFor() waits for.
napi_value AgentWrap::ReadTakenEvents(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, 0);
  const uint32_t count = self->WriteEvents();
  return ToJs(env, self->AnswerOf(count, self->HasTaken()));
}

uint32_t AgentWrap::AnswerOf(uint32_t count, bool has_more) {
  const bool is_connected = agent_->IsConnected();
  if (!is_connected) last_error_ = agent_->place();
  return count << kCountShift | (has_more ? kMoreEvents : 0) | (is_connected ? 0 : kDisconnected);
}

// snapshot() -> see snapshot_to_js.h; null: a shard is busy, try again; undefined: failed
napi_value AgentWrap::TakeSnapshot(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : call.self()->ToView(env, &InfosToJs);
}

// inspect() -> the same with details
napi_value AgentWrap::Inspect(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : call.self()->ToView(env, &DetailsToJs);
}

napi_value AgentWrap::ToView(napi_env env, napi_value (*to_js)(napi_env, const core::Snapshot&)) {
  if (agent_ == nullptr) {
    last_error_ = Closed();
    return nullptr;
  }
  const Result<core::Snapshot> snapshot = agent_->TakeSnapshot(kSnapshotTimeoutNs);
  if (snapshot.ok()) return to_js(env, *snapshot);
  if (snapshot.status().code() == StatusCode::kBusy) return ToJsNull(env);
  last_error_ = snapshot.status();
  return nullptr;
}

napi_value AgentWrap::LastError(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : ToJs(env, call.self()->last_error_);
}

// close(): releases everything
napi_value AgentWrap::CloseByJs(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  (void)napi_remove_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, self);
  self->DetachViews();
  self->Close(core::EndReason::kReleased);
  return nullptr;
}

}  // namespace holdfast::binding
