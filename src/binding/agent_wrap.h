// An agent for JavaScript: an object with functions (agent_wrap.cc), and a callback for events.
//
// Values in, values out, wake-ups: this folder decides nothing about locks.
#ifndef HOLDFAST_BINDING_AGENT_WRAP_H_
#define HOLDFAST_BINDING_AGENT_WRAP_H_

#include <node_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "binding/js_callback.h"
#include "binding/js_values.h"
#include "binding/loop_handles.h"
#include "core/agent.h"
#include "core/wait_for_graph.h"
#include "platform/fork_guard.h"

namespace holdfast::binding {

// Bits of the second argument of request(); lib reads them from the addon's exports.
inline constexpr uint32_t kShared = 1;
inline constexpr uint32_t kIfAvailable = 2;
inline constexpr uint32_t kSteal = 4;
inline constexpr uint32_t kBackground = 8;
inline constexpr uint32_t kUserBlocking = 16;

// request() answers id << kOutcomeBits | outcome, or -1: see lastError().
inline constexpr uint32_t kOutcomeBits = 2;
// An outcome beside those in core::RequestOutcome: granted, and there are events.
inline constexpr uint32_t kGrantedBehind = 3;

// A bit in the answer of end(): there is an event, which need not wait for a turn of the loop.
inline constexpr uint32_t kHasEvents = 8;
// In the answer of endOrBias(): the record is biased, in the slot that stands above kSlotShift.
inline constexpr uint32_t kIsBiased = 16;
inline constexpr uint32_t kSlotShift = 5;

// readEvents() answers count << kCountShift | these bits: there are more events; the lock table was
// removed.
inline constexpr uint32_t kMoreEvents = 1;
inline constexpr uint32_t kDisconnected = 2;
inline constexpr uint32_t kCountShift = 2;

// waitFor() answers kNoEvent, kSelfDeadlock, or the kind of an event with kHasOthers: there are
// other events, too.
inline constexpr int32_t kNoEvent = -1;
inline constexpr int32_t kSelfDeadlock = 9;
inline constexpr int32_t kHasOthers = 16;
static_assert(kSelfDeadlock > static_cast<int32_t>(core::RequestEvent::Kind::kContended));
static_assert(kHasEvents > static_cast<uint32_t>(core::Loss::kCorrupted));
static_assert(kGrantedBehind > static_cast<uint32_t>(core::RequestOutcome::kMissed));
static_assert(kGrantedBehind < 1 << kOutcomeBits);

// The words of the buffer shared with JavaScript: the token of the grant that request() answered,
// then the events. Each event of readEvents() has kEventWords: id, kind, token (high, low half).
inline constexpr uint32_t kTokenWords = 2;
inline constexpr uint32_t kEventWords = 4;
inline constexpr uint32_t kMaxEvents = 255;
inline constexpr uint32_t kBudgetWord = kTokenWords + kEventWords * kMaxEvents;

// Behind the events, from kBudgetWord on: how often JavaScript may still acquire a biased lock
// before it calls renewBudget(), kForkedBudget in a forked child. Then the slots that native code
// has freed, a bit each, and the time of this turn of the loop, high and low half. Last the states
// of the record that endOrBias() has biased, free and held.
inline constexpr uint32_t kBudgetWords = 6;
inline constexpr uint32_t kFreedWord = kBudgetWord + 1;
inline constexpr uint32_t kTurnWord = kBudgetWord + 2;
inline constexpr uint32_t kStatesWord = kBudgetWord + 4;
inline constexpr uint32_t kBufferWords = kBudgetWord + kBudgetWords;
inline constexpr uint32_t kFullBudget = 1000;
inline constexpr uint32_t kForkedBudget = UINT32_MAX;  // -1 for JavaScript

// The values of an event of readWatch(): name, type (LockEvent), mode, client id, process id,
// thread id, token (high, low half), time. Then how many events were lost before it, the low half
// of the number of the request, its priority and overtakes.
inline constexpr uint32_t kWatchEventFields = 13;

// The error of a function of a closed agent.
inline Status Closed() { return Status(StatusCode::kClosed, "the lock manager is closed"); }

// Final, and never deleted through its base.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor)
class AgentWrap final : private LoopHandles::Listener, private core::BiasObserver {
 public:
  // Opens an agent; throws (in JavaScript) what went wrong and returns null. `buffer` is a
  // Uint32Array of at least kBufferWords.
  static std::unique_ptr<AgentWrap> Open(napi_env env, const core::AttachOptions& options,
                                         const uint64_t (&client_id)[2], napi_value buffer,
                                         napi_value on_events);
  ~AgentWrap() { Close(core::EndReason::kOwnerDied); }
  AgentWrap(const AgentWrap&) = delete;
  AgentWrap& operator=(const AgentWrap&) = delete;

  // An object with the agent's functions, which owns it: a function may be called as long as the
  // object can be reached. Null: JavaScript cannot run any more.
  static napi_value PassToJs(std::unique_ptr<AgentWrap> agent);

 private:
  AgentWrap(napi_env env, std::unique_ptr<core::Agent> agent, bool sweeps,
            std::span<uint32_t> words);

  static napi_value Request(napi_env env, napi_callback_info info);
  static napi_value RequestAgain(napi_env env, napi_callback_info info);
  static napi_value RequestEnclosed(napi_env env, napi_callback_info info);
  static napi_value RequestEnclosedAgain(napi_env env, napi_callback_info info);
  static napi_value RequestWithExtras(napi_env env, napi_callback_info info);
  static napi_value End(napi_env env, napi_callback_info info);
  static napi_value TimeOut(napi_env env, napi_callback_info info);
  static napi_value EndOrBias(napi_env env, napi_callback_info info);
  static napi_value DropBiased(napi_env env, napi_callback_info info);
  static napi_value RenewBudget(napi_env env, napi_callback_info info);
  static napi_value View(napi_env env, napi_callback_info info);
  static napi_value TokenView(napi_env env, napi_callback_info info);
  static napi_value IsHeld(napi_env env, napi_callback_info info);
  static napi_value ChangePriority(napi_env env, napi_callback_info info);
  static napi_value WatchContention(napi_env env, napi_callback_info info);
  static napi_value IsConnected(napi_env env, napi_callback_info info);
  static napi_value ReadEvents(napi_env env, napi_callback_info info);
  static napi_value ReadTakenEvents(napi_env env, napi_callback_info info);
  static napi_value WaitFor(napi_env env, napi_callback_info info);
  static napi_value IsLocked(napi_env env, napi_callback_info info);
  static napi_value HoldersOf(napi_env env, napi_callback_info info);
  static napi_value BeginWaitWalk(napi_env env, napi_callback_info info);
  static napi_value GoOnWaitWalk(napi_env env, napi_callback_info info);
  static napi_value ReadWaitWalk(napi_env env, napi_callback_info info);
  static napi_value Inspect(napi_env env, napi_callback_info info);
  static napi_value OpenWatch(napi_env env, napi_callback_info info);
  static napi_value ReadWatch(napi_env env, napi_callback_info info);
  static napi_value ArmWatch(napi_env env, napi_callback_info info);
  static napi_value PauseWatch(napi_env env, napi_callback_info info);
  static napi_value CloseWatch(napi_env env, napi_callback_info info);
  static napi_value Usage(napi_env env, napi_callback_info info);
  static napi_value LifeDescriptors(napi_env env, napi_callback_info info);
  static napi_value TakeSnapshot(napi_env env, napi_callback_info info);
  static napi_value LastError(napi_env env, napi_callback_info info);
  static napi_value CloseByJs(napi_env env, napi_callback_info info);
  static void OnEnvironmentEnd(void* self);

  napi_value Functions();
  // The environment ends, or cannot be called any more, or the agent is unreachable: ends all locks
  // and requests of the agent.
  void CloseAtEnd();

  uint64_t MaxNameUnits() const;
  int32_t MakeRequest(const NameArgument& name, core::RequestParams& request);
  napi_value MakeEnclosedRequest(napi_env env, napi_value flags_value, napi_value high,
                                 napi_value low);
  int32_t Fail(const Status& status);
  int32_t WaitFor(uint32_t id, uint64_t timeout_ns);
  napi_value ToView(napi_env env, napi_value (*to_js)(napi_env, const core::Snapshot&));
  void OnBiasedSlotFreed(uint32_t slot) override;
  napi_value MakeView(void* data, size_t bytes, JsReference& reference);
  void Detach(JsReference& view);
  void DetachViews();
  void EndBudget() {
    if (words_[kBudgetWord] != kForkedBudget) words_[kBudgetWord] = 0;
  }
  uint32_t AnswerOf(core::Loss loss) const;
  void OnPrepare() override;
  void OnCheck() override;
  void OnDoorbell() override;
  void OnSweep() override;
  bool DeliverNearEvents();
  bool GoToSleep();
  // Delivers events to JavaScript until there are none or the time is used up.
  void Deliver();
  void TakeEvents();
  // Whether there are events that JavaScript has not read yet.
  bool HasTaken() const { return next_event_ < events_.size(); }
  bool CallJs();
  uint32_t WriteEvents();
  uint32_t AnswerOf(uint32_t count, bool has_more);
  void WriteToken(uint32_t at, uint64_t token);
  bool HasReport() const {
    return agent_->HasEvents() || agent_->HasWatchNews() ||
           (!agent_->IsConnected() && !has_reported_disconnection_);
  }
  void UpdateLoop();
  // From a call that may begin something on, JavaScript's side of the agent is not collected. This
  // lasts until the end of a turn of the loop in which the agent is idle.
  void Hold();
  void LetGoIfIdle();
  void BeReachable();
  void Close(core::EndReason reason);

  napi_env env_;
  std::unique_ptr<core::Agent> agent_;         // null: closed
  std::unique_ptr<core::WaitWalk> wait_walk_;  // null: none is running
  LoopHandles* handles_ = nullptr;
  JsReference buffer_;      // an ArrayBuffer
  uint32_t* words_;         // of the buffer
  NameArgument last_name_;  // that request() was given
  JsReference on_events_;
  JsReference functions_;                                   // own this, and refer to on_events_
  std::array<JsReference, core::BiasedSlots::kMax> views_;  // of the records in the slots
  JsReference token_view_;
  ForkGuard fork_guard_;  // ends the acquisition budget of a forked child
  std::vector<core::RequestEvent> events_;
  size_t next_event_ = 0;  // of events_: what JavaScript reads next
  Status last_error_;
  const bool sweeps_;
  bool is_held_ = false;
  bool has_reported_disconnection_ = false;
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_AGENT_WRAP_H_
