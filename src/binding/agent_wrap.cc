#include "binding/agent_wrap.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "binding/errors.h"
#include "binding/js_values.h"
#include "binding/snapshot_to_js.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/biased_record.h"

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

[[gnu::cold]] AgentWrap::AgentWrap(napi_env env, std::unique_ptr<core::Agent> agent, bool sweeps,
                                   std::span<uint32_t> words)
    : env_(env), agent_(std::move(agent)), words_(words.data()), sweeps_(sweeps) {
  agent_->SetBiasObserver(this);
}

[[gnu::cold]] std::unique_ptr<AgentWrap> AgentWrap::Open(napi_env env,
                                                         const core::AttachOptions& options,
                                                         const uint64_t (&client_id)[2],
                                                         napi_value buffer, napi_value on_events) {
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
  const auto empty_budget = [](void* self) {
    static_cast<AgentWrap*>(self)->words_[kBudgetWord] = kForkedBudget;
  };
  const Status guarded = wrap->fork_guard_.Register(empty_budget, wrap.get());
  if (!guarded.ok()) {
    wrap->CloseAtEnd();
    return fail(guarded);
  }
  wrap->handles_->DoNotSleep(true);  // opened in another agent's turn: its own is over
  return wrap;
}

[[gnu::cold]] napi_value AgentWrap::PassToJs(std::unique_ptr<AgentWrap> agent) {
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

[[gnu::cold]] napi_value AgentWrap::Functions() {
  JsObject functions(env_);
  const auto add = [&](const char* name, napi_callback callback) {
    functions.Set(name, ToJsFunction(env_, name, callback, this));
  };
  add("request", &AgentWrap::Request);
  add("requestAgain", &AgentWrap::RequestAgain);
  add("requestEnclosed", &AgentWrap::RequestEnclosed);
  add("requestEnclosedAgain", &AgentWrap::RequestEnclosedAgain);
  add("requestWithExtras", &AgentWrap::RequestWithExtras);
  add("end", &AgentWrap::End);
  add("timeOut", &AgentWrap::TimeOut);
  add("endOrBias", &AgentWrap::EndOrBias);
  add("dropBiased", &AgentWrap::DropBiased);
  add("renewBudget", &AgentWrap::RenewBudget);
  add("view", &AgentWrap::View);
  add("tokenView", &AgentWrap::TokenView);
  add("isHeld", &AgentWrap::IsHeld);
  add("watchContention", &AgentWrap::WatchContention);
  add("changePriority", &AgentWrap::ChangePriority);
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
[[gnu::cold]] void AgentWrap::OnEnvironmentEnd(void* self) {
  static_cast<AgentWrap*>(self)->Close(core::EndReason::kOwnerDied);
}

[[gnu::cold]] void AgentWrap::CloseAtEnd() {
  (void)napi_remove_env_cleanup_hook(env_, &AgentWrap::OnEnvironmentEnd, this);
  Close(core::EndReason::kOwnerDied);
}

[[gnu::cold]] void AgentWrap::Close(core::EndReason reason) {
  if (handles_ != nullptr) handles_->Close();
  handles_ = nullptr;
  wait_walk_.reset();
  fork_guard_.Unregister();
  if (agent_ != nullptr) EndBudget();
  // Node detaches them when the environment ends.
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
  EndBudget();
  handles_->DoNotSleep(false);
  if (HasReport()) Deliver();
  const bool expects_more = agent_ != nullptr && agent_->queued() > 0 && DeliverNearEvents();
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

// A biased lock may be acquired without a call while the acquisition budget lasts.
void AgentWrap::LetGoIfIdle() {
  if (!is_held_ || HasReport() || HasTaken() || !agent_->IsIdle()) return;
  EndBudget();
  is_held_ = false;
  functions_.LetGo();
}

// No peer rings during this, because the agent has not announced its sleep. True: other work of the
// loop is due, and more events may come soon.
bool AgentWrap::DeliverNearEvents() {
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
  if (HasReport()) Deliver();
  if (agent_ != nullptr) UpdateLoop();
}

// Watchers are also rung only while the agent has announced its sleep, so it checks for watch
// events after the announcement.
bool AgentWrap::GoToSleep() { return agent_->GoToSleep() && !agent_->HasWatchNews(); }

void AgentWrap::OnDoorbell() {
  agent_->WakeUp();
  agent_->OnDoorbellRung();
  if (HasReport()) Deliver();
}

void AgentWrap::OnSweep() {
  agent_->Sweep();
  if (HasReport()) Deliver();
  if (agent_ != nullptr && agent_->in_use() == 0) handles_->Sweep(false);
}

// The loop stays alive while a request waits or has an undelivered event. An agent that waits or
// holds a lock sweeps.
void AgentWrap::UpdateLoop() {
  handles_->KeepAlive(agent_->queued() > 0 || HasReport());
  if (sweeps_ && agent_->in_use() > 0) handles_->Sweep(true);
  if (!handles_->SleepsItself()) BeReachable();
}

// The loop may sleep without another OnPrepare(): from now on this agent says that it sleeps, so
// that it is rung. Earlier events ring as well. One ring is enough until the loop has received it:
// a thread that releases to itself, again and again, would ring itself each time.
//
// Without a wait nothing is announced, and if nothing keeps the loop alive no turn follows either.
// Then a doorbell that is not drained would not let the program sleep.
void AgentWrap::BeReachable() {
  if (!agent_->AwaitsDoorbell()) return agent_->DrainDoorbell();
  if (!agent_->SaysThatItSleeps() && !GoToSleep()) agent_->RingSelf();
}

void AgentWrap::Deliver() {
  const JsScope scope(env_);
  if (!scope.is_open()) return;
  // A callback may close the agent and then run the loop, which frees unreachable objects.
  (void)functions_.Get();
  const uint64_t end = platform::MonotonicNs() + kTurnNs;
  do {
    TakeEvents();
    const bool reports_disconnection = !agent_->IsConnected() && !has_reported_disconnection_;
    has_reported_disconnection_ = !agent_->IsConnected();
    const bool notifies_watchers = agent_->HasWatchNews();
    if (notifies_watchers) agent_->ReportedWatchNews();
    if ((reports_disconnection || notifies_watchers || !events_.empty()) && !CallJs()) return;
    if (agent_ == nullptr) return;
    if (agent_->IsRescanning()) break;  // the next piece in the next turn
  } while (HasReport() && platform::MonotonicNs() < end);
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

// The functions of an agent, as JavaScript calls them.

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

Priority PriorityIn(uint32_t flags) {
  if ((flags & kBackground) != 0) return Priority::kBackground;
  return (flags & kUserBlocking) != 0 ? Priority::kUserBlocking : Priority::kUserVisible;
}

core::RequestParams ToRequest(uint32_t flags) {
  core::RequestParams request;
  request.mode = (flags & kShared) != 0 ? LockMode::kShared : LockMode::kExclusive;
  if ((flags & kIfAvailable) != 0) request.max_pending = 0;
  request.steal = (flags & kSteal) != 0;
  request.priority = PriorityIn(flags);
  return request;
}

[[gnu::cold]] Status TooLong() {
  return Status(StatusCode::kSegmentFull, "the name is larger than the lock table");
}

}  // namespace

// request(name, flags) -> id << kOutcomeBits | outcome; -1: failed. The outcome is kGrantedBehind
// if events of other requests, perhaps older grants or losses, are to be reported before the grant.
// The caller of a steal expects them in any case
napi_value AgentWrap::Request(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t flags = 0;
  if (self == nullptr || !self->last_name_.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], flags)) {
    return Quit(env);
  }
  core::RequestParams request = ToRequest(flags);
  return ToJs(env, self->MakeRequest(self->last_name_, request));
}

// requestAgain(flags): request() with the name of the last call; at first, the empty name
napi_value AgentWrap::RequestAgain(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t flags = 0;
  if (self == nullptr || !Read(env, call[0], flags)) return Quit(env);
  core::RequestParams request = ToRequest(flags);
  return ToJs(env, self->MakeRequest(self->last_name_, request));
}

// requestEnclosed(name, flags, high and low half of the token of the enclosing lock): request()
// with this extra alone, which a request in a callback has
napi_value AgentWrap::RequestEnclosed(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 4> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr || !self->last_name_.Read(env, call[0], self->MaxNameUnits())) {
    return Quit(env);
  }
  return self->MakeEnclosedRequest(env, call[1], call[2], call[3]);
}

// requestEnclosedAgain(flags, high and low half of the token): the same with the name of the last
// call
napi_value AgentWrap::RequestEnclosedAgain(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 3> call(env, info);
  return call.self() == nullptr ? Quit(env)
                                : call.self()->MakeEnclosedRequest(env, call[0], call[1], call[2]);
}

napi_value AgentWrap::MakeEnclosedRequest(napi_env env, napi_value flags_value, napi_value high,
                                          napi_value low) {
  uint32_t flags = 0;
  uint64_t token = 0;
  if (!Read(env, flags_value, flags) || !ReadToken(env, high, low, token)) return Quit(env);
  core::RequestParams request = ToRequest(flags);
  request.enclosing_token = token;
  return ToJs(env, MakeRequest(last_name_, request));
}

// requestWithExtras(name, flags, limit, holdLimit (ms), label, high and low half of the token of
// the enclosing lock, call site, maxPending) -> like request(); maxPending replaces IF_AVAILABLE
napi_value AgentWrap::RequestWithExtras(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 9> call(env, info);
  AgentWrap* const self = call.self();
  NameArgument name;
  ShownText label;
  ShownText call_site;
  uint32_t flags = 0;
  if (self == nullptr || !name.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], flags)) {
    return Quit(env);
  }
  core::RequestParams request = ToRequest(flags);
  if (!Read(env, call[2], request.limit) || !ReadMs(env, call[3], request.hold_limit_ns) ||
      !label.Read(env, call[4]) || !ReadToken(env, call[5], call[6], request.enclosing_token) ||
      !call_site.Read(env, call[7]) || !Read(env, call[8], request.max_pending)) {
    return Quit(env);
  }
  request.label = label.text();
  request.call_site = call_site.text();
  return ToJs(env, self->MakeRequest(name, request));
}

int32_t AgentWrap::MakeRequest(const NameArgument& name, core::RequestParams& request) {
  if (agent_ == nullptr) return Fail(Closed());
  if (!name.fits()) return Fail(TooLong());
  Hold();
  const Result<core::Agent::Answer> answer = agent_->Request(name.name(), request);
  if (!answer.ok()) return Fail(answer.status());
  WriteToken(0, answer->token);
  UpdateLoop();
  const bool is_behind =
      answer->outcome == core::RequestOutcome::kGranted && !request.steal && agent_->HasEvents();
  const uint32_t outcome = is_behind ? kGrantedBehind : static_cast<uint32_t>(answer->outcome);
  return static_cast<int32_t>(answer->id << kOutcomeBits | outcome);
}

// Names that can never fit are refused before they are copied.
uint64_t AgentWrap::MaxNameUnits() const {
  return agent_ == nullptr ? 0 : agent_->capacity() / sizeof(char16_t);
}

[[gnu::cold]] int32_t AgentWrap::Fail(const Status& status) {
  last_error_ = status;
  return -1;
}

// end(id) -> 0, or how the lock had been lost: LOSS_STOLEN, LOSS_EXPIRED, LOSS_CORRUPTED.
// LOSS_UNKNOWN: a later event says (EVENT_RELEASED: it was not lost), and the id stays in use until
// then. HAS_EVENTS is added when a waiting request of this agent has an event, usually its grant
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

// isHeld(id) -> boolean: granted, and JavaScript has received the grant
napi_value AgentWrap::IsHeld(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  const AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  return ToJs(env, self->agent_ != nullptr && self->agent_->IsHeld(id));
}

// watchContention(id) -> a Contention: the highest priority that waits for the lock that this
// request holds, as far as it is known. EVENT_CONTENDED follows when it changes
[[gnu::cold]] napi_value AgentWrap::WatchContention(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  const segment::Contention contention =
      self->agent_ == nullptr ? segment::Contention::kNone : self->agent_->WatchContention(id);
  return ToJs(env, static_cast<uint32_t>(contention));
}

// changePriority(id, flags): of a request that waits; only BACKGROUND and USER_BLOCKING count
[[gnu::cold]] napi_value AgentWrap::ChangePriority(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  uint32_t flags = 0;
  if (self == nullptr || !Read(env, call[0], id) || !Read(env, call[1], flags)) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  self->agent_->ChangePriority(id, PriorityIn(flags));
  self->UpdateLoop();
  return nullptr;
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
// with its token in the first words of the buffer. HAS_OTHERS is added when there is more to read.
// If none came: -1. SELF_DEADLOCK: this thread would have to release a lock or end a request first.
// After these two readTakenEvents() has to be called next, after HAS_OTHERS readEvents().
// Blocks the thread, and nothing interrupts the wait: `ms` must be short.
//
// Checks for the deadlock only when it is about to sleep, because the check enters the shard. The
// agent that is about to grant this request needs the shard.
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
  if (timeout_ns > 0) event = agent_->PollFor(id, events_);
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
  const bool has_others = HasTaken() || HasReport();
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

// readTakenEvents() -> like readEvents(), of the events that waitFor() has taken. The next
// waitFor() may wait for an event that has come since.
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
  if (!is_connected) last_error_ = agent_->bucket_status();
  return count << kCountShift | (has_more ? kMoreEvents : 0) | (is_connected ? 0 : kDisconnected);
}

// snapshot() -> see snapshot_to_js.h; null: a shard is busy, try again; undefined: failed
[[gnu::cold]] napi_value AgentWrap::TakeSnapshot(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : call.self()->ToView(env, &InfosToJs);
}

// inspect() -> the same with details
[[gnu::cold]] napi_value AgentWrap::Inspect(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : call.self()->ToView(env, &DetailsToJs);
}

[[gnu::cold]] napi_value AgentWrap::ToView(napi_env env,
                                           napi_value (*to_js)(napi_env, const core::Snapshot&)) {
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

[[gnu::cold]] napi_value AgentWrap::LastError(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  return call.self() == nullptr ? Quit(env) : ToJs(env, call.self()->last_error_);
}

// close(): releases everything
[[gnu::cold]] napi_value AgentWrap::CloseByJs(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  (void)napi_remove_env_cleanup_hook(env, &AgentWrap::OnEnvironmentEnd, self);
  self->DetachViews();
  self->Close(core::EndReason::kReleased);
  return nullptr;
}

// The functions of an agent with which JavaScript keeps names: JavaScript acquires and releases a
// biased record through a view of the record's bytes (docs/decisions/0025-biased-locks.md).

// endOrBias(id) -> like end(id), or IS_BIASED | slot << SLOT_SHIFT: the record is biased, its
// states are in the buffer, and the id stays in use
napi_value AgentWrap::EndOrBias(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, 0);
  const core::Agent::Released released = self->agent_->EndOrBias(id);
  self->UpdateLoop();
  if (released.slot == core::BiasedSlots::kNone) return ToJs(env, self->AnswerOf(released.loss));
  const uint64_t ticket = self->agent_->BiasedTicket(released.slot);
  self->words_[kStatesWord] = static_cast<uint32_t>(segment::BiasedFreeState(ticket));
  self->words_[kStatesWord + 1] = static_cast<uint32_t>(segment::BiasedHeldState(ticket));
  return ToJs(env, self->AnswerOf(core::Loss::kNone) | kIsBiased | released.slot << kSlotShift);
}

// dropBiased(id): frees a biased record that is not held, and detaches its view
napi_value AgentWrap::DropBiased(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  self->agent_->Abandon(id, core::EndReason::kReleased);
  self->UpdateLoop();
  return nullptr;
}

// renewBudget() -> boolean: JavaScript may acquire biased locks again, in this turn of the loop
napi_value AgentWrap::RenewBudget(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr || self->words_[kBudgetWord] == kForkedBudget)
    return ToJs(env, false);
  self->agent_->BeginTurn();  // checks that the table is still in place
  if (!self->agent_->CheckUsable().ok()) return ToJs(env, false);
  self->Hold();
  self->words_[kBudgetWord] = kFullBudget;
  self->WriteToken(kTurnWord, self->agent_->turn_ms());
  return ToJs(env, true);
}

// view(slot) -> an ArrayBuffer over the record that endOrBias() has biased there; null: this
// environment has none
[[gnu::cold]] napi_value AgentWrap::View(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t slot = 0;
  if (self == nullptr || !Read(env, call[0], slot)) return Quit(env);
  if (self->agent_ == nullptr || !self->agent_->IsBiasedSlot(slot)) return ToJsNull(env);
  return self->MakeView(&self->agent_->BiasedRecord(slot), segment::kCellBytes, self->views_[slot]);
}

// tokenView() -> an ArrayBuffer over the newest token of the bucket; null as above
[[gnu::cold]] napi_value AgentWrap::TokenView(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return ToJsNull(env);
  segment::Shared<uint64_t>& last = self->agent_->last_token();
  return self->MakeView(last.atomic(), sizeof(uint64_t), self->token_view_);
}

[[gnu::cold]] napi_value AgentWrap::MakeView(void* data, size_t bytes, JsReference& reference) {
  Detach(reference);
  napi_value view = nullptr;
  const bool is_made =
      napi_create_external_arraybuffer(env_, data, bytes, nullptr, nullptr, &view) == napi_ok &&
      reference.Keep(env_, view);
  if (is_made) return view;
  if (view != nullptr) DetachBuffer(env_, view);
  return ToJsNull(env_);
}

void AgentWrap::Detach(JsReference& reference) {
  const napi_value view = reference.Get();
  if (view != nullptr) DetachBuffer(env_, view);
  reference.Reset();
}

[[gnu::cold]] void AgentWrap::DetachViews() {
  for (JsReference& view : views_) Detach(view);
  Detach(token_view_);
}

// Between two turns, or in a call from JavaScript, which checks the budget before it stores.
void AgentWrap::OnBiasedSlotFreed(uint32_t slot) {
  EndBudget();
  words_[kFreedWord] |= 1U << slot;
  const JsScope scope(env_);
  if (scope.is_open()) Detach(views_[slot]);
}

// The functions of an agent that describe its table and its process, for tools.

// usage() -> numbers in the order of TableUsage, the layout version, and the newest token in two
// halves; undefined: closed
[[gnu::cold]] napi_value AgentWrap::Usage(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  if (call.self() == nullptr) return Quit(env);
  if (call.self()->agent_ == nullptr) return nullptr;
  const core::TableUsage usage = call.self()->agent_->Usage();
  JsArray array(env, 10);
  array.Append(static_cast<double>(usage.capacity));
  array.Append(usage.used_cells);
  array.Append(usage.max_cells);
  array.Append(usage.processes);
  array.Append(usage.max_processes);
  array.Append(usage.agents);
  array.Append(usage.max_agents);
  array.Append(segment::kLayoutVersion);
  const uint64_t newest_token = call.self()->agent_->segment().header().last_token.Get();
  array.Append(static_cast<uint32_t>(newest_token >> 32));
  array.Append(static_cast<uint32_t>(newest_token));
  return array.result();
}

// lifeDescriptors() -> new descriptors, which the caller closes; undefined: failed
[[gnu::cold]] napi_value AgentWrap::LifeDescriptors(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) {
    self->Fail(Status(StatusCode::kClosed, "the lock manager is closed"));
    return nullptr;
  }
  auto life = self->agent_->ShareLife();
  if (!life.ok()) {
    self->Fail(life.status());
    return nullptr;
  }
  JsArray array(env, life->size());
  for (const platform::UniqueFd& fd : *life) array.Append(int32_t{fd.get()});
  if (!array.ok()) return Quit(env);  // the descriptors are closed
  for (platform::UniqueFd& fd : *life) (void)fd.release();
  return array.result();
}

// The functions of an agent with which JavaScript detects deadlocks and names holders.

namespace {

// Answers of goOnWaitWalk().
constexpr int32_t kMore = 0;
constexpr int32_t kDone = 1;
constexpr int32_t kBusy = 2;

}  // namespace

// holdersOf(name, most) -> the values of their details, see snapshot_to_js.h; null: the shard is
// busy; undefined: failed
[[gnu::cold]] napi_value AgentWrap::HoldersOf(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  NameArgument name;
  uint32_t max = 0;
  if (self == nullptr || !name.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], max)) {
    return Quit(env);
  }
  if (self->agent_ == nullptr || !name.fits()) {
    self->Fail(Closed());
    return nullptr;
  }
  const Result<core::Snapshot> holders = self->agent_->HoldersOf(name.name(), max);
  if (holders.ok()) return DetailsToJs(env, *holders);
  if (holders.status().code() == StatusCode::kBusy) return ToJsNull(env);
  self->Fail(holders.status());
  return nullptr;
}

// beginWaitWalk(Uint32Array of ids, with queues) -> 0; -1: failed. Ends an earlier walk.
[[gnu::cold]] napi_value AgentWrap::BeginWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  std::span<uint32_t> ids;
  bool with_queues = false;
  if (self == nullptr || !Read(env, call[0], ids) || !Read(env, call[1], with_queues)) {
    return Quit(env);
  }
  if (self->agent_ == nullptr) return ToJs(env, self->Fail(Closed()));
  auto walk = self->agent_->BeginWaitWalk(ids, with_queues);
  if (!walk.ok()) return ToJs(env, self->Fail(walk.status()));
  self->wait_walk_ = std::move(*walk);
  return ToJs(env, 0);
}

// goOnWaitWalk() -> 0: there is more; 1: complete; 2: a shard is busy, try again; -1: failed
[[gnu::cold]] napi_value AgentWrap::GoOnWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->wait_walk_ == nullptr) return ToJs(env, self->Fail(Closed()));
  const Result<bool> is_read = self->agent_->GoOn(*self->wait_walk_);
  if (is_read.ok()) return ToJs(env, *is_read ? kDone : kMore);
  if (is_read.status().code() == StatusCode::kBusy) return ToJs(env, kBusy);
  return ToJs(env, self->Fail(is_read.status()));
}

// readWaitWalk(most) -> the next requests that were read, like inspect(); both empty: there are no
// more
[[gnu::cold]] napi_value AgentWrap::ReadWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t max = 0;
  if (self == nullptr || !Read(env, call[0], max)) return Quit(env);
  if (self->wait_walk_ == nullptr) {
    self->Fail(Closed());
    return nullptr;
  }
  const core::Snapshot part = self->wait_walk_->Take(max);
  if (part.held.empty() && part.pending.empty()) self->wait_walk_.reset();
  return DetailsToJs(env, part);
}

// The functions of an agent for watch(), and the conversion of events.

namespace {

// kWatchEventFields values per event; lib turns them into objects.
[[gnu::cold]] void Append(JsArray& array, const core::WatchedEvent& event, uint64_t own_namespace) {
  const segment::WatchRingEntry& entry = event.entry;
  array.Append(event.name);
  array.Append(static_cast<uint32_t>(entry.type));
  const auto facts = segment::RequestFacts::FromByte(entry.request_facts);
  array.Append(static_cast<uint32_t>(facts.mode));
  array.Append(ToUuid(entry.client_id));
  const bool is_near = entry.pid_namespace == own_namespace;
  array.Append(is_near ? static_cast<uint32_t>(entry.process_id) : 0U);
  array.Append(static_cast<uint32_t>(entry.thread_id));
  array.Append(static_cast<uint32_t>(entry.token >> 32));
  array.Append(static_cast<uint32_t>(entry.token));
  array.Append(static_cast<double>(entry.time_ms));
  array.Append(static_cast<double>(event.lost));
  array.Append(static_cast<uint32_t>(entry.request));
  array.Append(static_cast<uint32_t>(facts.priority));
  array.Append(facts.overtakes);
}

// False: the value is neither a string nor undefined, or JavaScript cannot run any more.
[[gnu::cold]] bool ReadName(napi_env env, napi_value value, std::optional<std::u16string>& name) {
  napi_valuetype type{};
  if (napi_typeof(env, value, &type) != napi_ok) return false;
  return type == napi_undefined || Read(env, value, name.emplace());
}

}  // namespace

// openWatch(name or undefined) -> id; -1: failed
[[gnu::cold]] napi_value AgentWrap::OpenWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  std::optional<std::u16string> name;
  if (self == nullptr || !ReadName(env, call[0], name)) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, self->Fail(Closed()));
  self->Hold();
  const Result<uint32_t> id = self->agent_->OpenWatch(std::move(name));
  return ToJs(env, id.ok() ? static_cast<int32_t>(*id) : self->Fail(id.status()));
}

// readWatch(id, most) -> WATCH_EVENT_FIELDS values per event; undefined: failed
[[gnu::cold]] napi_value AgentWrap::ReadWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  uint32_t max = 0;
  if (self == nullptr || !Read(env, call[0], id) || !Read(env, call[1], max)) return Quit(env);
  std::vector<core::WatchedEvent> events;
  const Status read = self->agent_ == nullptr ? Closed() : self->agent_->ReadWatch(id, max, events);
  if (!read.ok()) {
    self->Fail(read);
    return nullptr;
  }
  const segment::ProcessRef own = self->agent_->ref().process;
  const uint64_t own_namespace = self->agent_->segment().process(own.slot).pid_namespace.Get();
  JsArray array(env, events.size() * kWatchEventFields);
  for (const core::WatchedEvent& event : events) {
    const JsScope scope(env);
    if (!scope.is_open() || !array.ok()) return Quit(env);
    Append(array, event, own_namespace);
  }
  return array.result();
}

// armWatch(id) -> true: an event is being written right now. The next event after that calls
// on_events(), once.
[[gnu::cold]] napi_value AgentWrap::ArmWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  uint32_t id = 0;
  if (call.self() == nullptr || !Read(env, call[0], id)) return Quit(env);
  AgentWrap* const self = call.self();
  if (self->agent_ == nullptr) return ToJs(env, false);
  const bool is_behind = self->agent_->ArmWatch(id);
  self->UpdateLoop();
  return ToJs(env, is_behind);
}

// pauseWatch(id, boolean): true: incidents only from now on
[[gnu::cold]] napi_value AgentWrap::PauseWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  uint32_t id = 0;
  bool is_paused = false;
  if (call.self() == nullptr || !Read(env, call[0], id) || !Read(env, call[1], is_paused)) {
    return Quit(env);
  }
  if (call.self()->agent_ != nullptr) call.self()->agent_->SetWatchPaused(id, is_paused);
  return nullptr;
}

// closeWatch(id)
[[gnu::cold]] napi_value AgentWrap::CloseWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  uint32_t id = 0;
  if (call.self() == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (call.self()->agent_ != nullptr) call.self()->agent_->CloseWatch(id);
  return nullptr;
}

}  // namespace holdfast::binding
