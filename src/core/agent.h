// One Node environment's view of a bucket: its requests by number, its events, its doorbell.
//
// Used by one thread. Keeps a private mirror of the agent's requests. The agent trusts a record in
// the segment only if the number, the cell and the ticket are the ones in the mirror.
#ifndef HOLDFAST_CORE_AGENT_H_
#define HOLDFAST_CORE_AGENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/adaptive_spin.h"
#include "core/agent_watches.h"
#include "core/attachment.h"
#include "core/deferred_entry.h"
#include "core/operation_pool.h"
#include "core/record_event.h"
#include "core/request_params.h"
#include "core/snapshot.h"
#include "core/sweep.h"
#include "platform/doorbell.h"
#include "platform/result.h"
#include "segment/resource_name.h"

namespace holdfast::core {

// The records that an agent keeps (segment/biased_record.h): at most kMax, each in a separate slot.
// Notified that a slot becomes free, before its record is freed.
class BiasObserver {
 public:
  virtual void OnBiasedSlotFreed(uint32_t slot) = 0;

 protected:
  ~BiasObserver() = default;
};

// Owned by one agent; used only on its thread.
class BiasedSlots {
 public:
  // Few, because each uses two cells of a table that others share.
  static constexpr uint32_t kMax = 8;
  static constexpr uint32_t kNone = UINT32_MAX;

  BiasedSlots() { ids_.fill(kNone); }

  void SetObserver(BiasObserver* observer) { observer_ = observer; }

  // The slot of a request; kNone: it is in none.
  uint32_t SlotOf(uint32_t id) const {
    for (uint32_t slot = 0; slot < kMax; ++slot) {
      if (ids_[slot] == id) return slot;
    }
    return kNone;
  }
  // kNone: the slot is free.
  uint32_t IdOf(uint32_t slot) const { return ids_[slot]; }
  bool HasRoom() const { return SlotOf(kNone) != kNone; }
  // The slot of a request that is biased from now on, also if it was before. REQUIRES: HasRoom().
  uint32_t Add(uint32_t id, uint64_t token) {
    const uint32_t known = SlotOf(id);
    const uint32_t slot = known == kNone ? SlotOf(kNone) : known;
    ids_[slot] = id;
    tokens_[slot] = token;
    return slot;
  }
  // Before the record is freed. No effect if it is in no slot.
  void Free(uint32_t id) {
    const uint32_t slot = SlotOf(id);
    if (slot == kNone) return;
    ids_[slot] = kNone;
    if (observer_ != nullptr) observer_->OnBiasedSlotFreed(slot);
  }
  // Whether the record has not been acquired since the last call. `token`: of its last hold.
  bool IsIdle(uint32_t slot, uint64_t token) {
    const bool is_idle = tokens_[slot] == token;
    tokens_[slot] = token;
    return is_idle;
  }

 private:
  std::array<uint32_t, kMax> ids_{};
  std::array<uint64_t, kMax> tokens_{};  // of the last hold, at the last check
  BiasObserver* observer_ = nullptr;
};

class WaitWalk;

// How a lock was lost, if the loss was not yet delivered when the lock was released. kUnknown: the
// shard is locked, and an event will report the loss. kCorrupted: the record is gone, so others may
// have had the lock.
enum class Loss : uint8_t { kNone, kStolen, kExpired, kUnknown, kCorrupted };

// A change of a request after the call that made it.
struct RequestEvent {
  enum class Kind : uint32_t {
    kGranted,
    kMissed,
    kFailed,
    kLost,
    kExpired,
    kStalled,
    kReleased,
    kCorrupted,
    kContended,
  };
  uint32_t id = 0;
  Kind kind = Kind::kGranted;
  // When granted, lost or expired; when stalled: the stopped process; when contended: the highest
  // priority that waits, see Contention.
  uint64_t token = 0;
  Status status;  // when failed
};

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> Open(const AttachOptions& options,
                                             const uint64_t (&client_id)[2]);
  ~Agent() { Close(EndReason::kOwnerDied); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  struct Answer {
    RequestOutcome outcome = RequestOutcome::kMissed;
    uint32_t id = 0;     // valid until End(id), or until the events that it missed or failed
    uint64_t token = 0;  // when granted
  };
  // Never waits, repairs or reaps. If the shard is locked or needs a repair, the request takes its
  // position in the shard's publication list and is kQueued. An event brings its outcome. The same
  // holds if dead processes keep a lock from a request that would be missed. The agent sets the id
  // and the time of `request`.
  Result<Answer> Request(const segment::ResourceName& name, RequestParams& request);
  // Cancels a queued request, or releases a granted one. Takes effect before every later request to
  // the shard. Afterwards the id is free and no event about it comes. Exception: the answer is
  // kUnknown; then one event comes, of kind kReleased, kLost, kExpired or kCorrupted.
  Loss End(uint32_t id, EndReason ending = EndReason::kReleased);
  // Releases a granted request like End(), but biases its record if no other agent is concerned
  // (segment/biased_record.h). The id then stays valid.
  struct Released {
    Loss loss = Loss::kNone;
    uint32_t slot = BiasedSlots::kNone;  // of the biased record
  };
  Released EndOrBias(uint32_t id);
  bool IsBiasedSlot(uint32_t slot) const {
    return slot < BiasedSlots::kMax && biased_slots_.IdOf(slot) != BiasedSlots::kNone;
  }
  // The record in a slot. JavaScript takes it and gives it back through a view of it; these two do
  // the same. False: it was revoked.
  segment::RequestCell& BiasedRecord(uint32_t slot) const;
  uint64_t BiasedTicket(uint32_t slot) const {
    return entries_[biased_slots_.IdOf(slot)].record.ticket;
  }
  uint64_t AcquireBiased(uint32_t slot, LockMode mode);
  bool ReleaseBiased(uint32_t slot);
  // Notified before this agent frees a biased record: nothing may be stored into it from then on.
  void SetBiasObserver(BiasObserver* observer) { biased_slots_.SetObserver(observer); }
  segment::Shared<uint64_t>& last_token() {
    return attachment_->lock_table().segment().header().last_token;
  }
  // Whether requests are possible now; the time for requests of this turn of the loop.
  Status CheckUsable();
  uint64_t turn_ms() const { return turn_ms_; }

  // The highest priority that waits for the lock that a granted request holds, as far as it is
  // known: if the shard is locked, kNone. From now on an event comes when it has changed.
  segment::Contention WatchContention(uint32_t id);

  // Moves a waiting request to the position of its new priority. If the shard is locked, or has not
  // executed the request yet, this happens soon.
  void ChangePriority(uint32_t id, Priority priority);

  // Like End(), but no event follows in any case.
  void Abandon(uint32_t id, EndReason ending);
  // A biased record counts as held: its record alone says whether it is held.
  bool IsHeld(uint32_t id) const { return id < entries_.size() && IsHolding(entries_[id].state); }
  // Of a valid id; none while the request is in the publication list. For tests that count tickets.
  RecordRef RecordOf(uint32_t id) const { return entries_[id].record; }
  Result<Snapshot> TakeSnapshot(uint64_t timeout_ns);
  // Whether at least `min` live processes hold the name, or one exclusively. Also true while the
  // shard is locked: then a request for the lock would not be granted either.
  Result<bool> IsLocked(const segment::ResourceName& name, uint32_t min);

  // At most `max` live holders of the name. kBusy: the shard is locked.
  Result<Snapshot> HoldersOf(const segment::ResourceName& name, uint32_t max);
  // Walks from these queued requests to their blockers; see WaitWalk. Must not outlive this agent.
  Result<std::unique_ptr<WaitWalk>> BeginWaitWalk(std::span<const uint32_t> ids, bool with_queues);
  Result<bool> GoOn(WaitWalk& walk);

  // The lock events of the bucket; see AgentWatches.
  Result<uint32_t> OpenWatch(std::optional<std::u16string> name);
  Status ReadWatch(uint32_t id, size_t max, std::vector<WatchedEvent>& events);
  void SetWatchPaused(uint32_t id, bool is_paused) { watches_.SetPaused(id, is_paused); }
  void CloseWatch(uint32_t id) { watches_.Close(id); }
  bool ArmWatch(uint32_t id) { return watches_.Arm(id); }
  bool HasWatchNews() const { return watches_.HasNews(); }
  void ReportedWatchNews() { watches_.ReportEnd(); }
  // Whether the doorbell of this agent may be rung for something it waits for.
  bool AwaitsDoorbell() const {
    return queued_ > 0 || contention_watches_ > 0 || watches_.is_armed();
  }

  // The number of waiting requests: they keep the event loop alive.
  uint32_t queued() const { return queued_; }
  // The number of requests that wait or hold: while there are any, events may come.
  uint32_t in_use() const { return in_use_; }
  // Whether it waits for, holds and watches nothing. A biased record counts only while it is held.
  bool IsIdle() const;

  int doorbell_fd() const { return doorbell_.fd(); }
  // False once the segment was removed or replaced, or this process has lost its slot. Then every
  // request fails, and no lock protects anything.
  bool IsConnected() const { return bucket_status_.ok(); }
  // Why it is not connected.
  const Status& bucket_status() const { return bucket_status_; }
  // The fallback of the mechanisms; called about once a second while this agent has requests.
  void Sweep();
  // The same, at most once a second. In between it only checks that the segment is still in place.
  // For a thread whose loop does not turn.
  void SweepIfDue();
  // A new turn of the loop: the next request first checks that the segment is still in place.
  void BeginTurn() { is_new_turn_ = true; }

  // The loop is about to sleep, also without any request. Drains the doorbell. False: there is an
  // event, and the loop must not sleep.
  bool GoToSleep();
  // Since then, until WakeUp(): whatever comes rings, or has rung already.
  bool SaysThatItSleeps() const { return entry_.sleeping.Get() != 0; }
  // Makes the doorbell of this agent readable, and says that it sleeps and has been rung.
  void RingSelf();
  // The loop is awake: peers need not ring.
  void WakeUp();
  // The doorbell was rung. It is drained before the agent sleeps again, not now: an agent that is
  // rung has a lock already, or has to poll for it.
  void OnDoorbellRung() { is_rung_ = true; }
  // Drains the doorbell if it was rung, while the agent is not marked as sleeping.
  void DrainDoorbell();
  // Takes all events and appends them; of a rescan, which events may be missing for, the next
  // piece. Then there are events until its end.
  void TakeEvents(std::vector<RequestEvent>& events);
  bool HasEvents() const;
  bool IsRescanning() const { return rescan_.is_running; }
  // Whether the last rescan found a busy shard, so that another one follows.
  bool AwaitsRescan() const { return !rescan_.is_complete; }
  // Polls for events for a moment if that pays (adaptive_spin.h). True: there are events.
  bool AwaitEvents() {
    return queued_ > 0 && adaptive_spin_.SpinFor([this] { return HasEvents(); });
  }

  // The event about a queued request, if it has come or comes while polling for it pays. Appends
  // the events of other requests to `others`. Never blocks, and never enters a shard.
  std::optional<RequestEvent> PollFor(uint32_t id, std::vector<RequestEvent>& others);
  // Blocks this thread until there is an event about a queued request, at most `timeout_ns`.
  // Returns it, or nothing. Appends the events of other requests to `others`.
  std::optional<RequestEvent> WaitFor(uint32_t id, uint64_t timeout_ns,
                                      std::vector<RequestEvent>& others);
  // Whether a queued request waits for a lock that this thread holds and cannot release meanwhile.
  bool WouldSelfDeadlock(uint32_t id);

  // Ends all requests and locks of this agent: it was closed, or its thread ends. REQUIRES: no call
  // follows.
  void Close(EndReason reason);
  TableUsage Usage() { return ReadTableUsage(segment(), attachment_->host()); }
  // See Attachment.
  Result<std::array<platform::UniqueFd, 2>> ShareLife() { return attachment_->ShareLife(); }
  const segment::Segment& segment() const { return attachment_->lock_table().segment(); }
  uint64_t capacity() const { return segment().geometry().capacity; }
  const segment::AgentRef& ref() const { return self_; }

 private:
  // kArriving: in the publication list. kAbandoned: its outcome is no longer wanted. kLeaving: its
  // release is in the publication list. kBiased: held, or idle in a slot.
  enum class EntryState : uint8_t {
    kFree,
    kArriving,
    kAbandoned,
    kQueued,
    kHeld,
    kBiased,
    kLeaving
  };
  struct Entry {
    RecordRef record;
    EntryState state = EntryState::kFree;
    bool has_hold_timer = false;
    segment::Contention contention = segment::Contention::kUnwatched;  // as JavaScript knows it
    bool is_end_published = false;  // abandoned, and its end is in the publication list, too
    uint32_t scan = 0;              // the rescan that saw it last
  };
  // An operation that this agent has published, until it has read the answer.
  struct Operation {
    OperationBuffer buffer;
    OperationBuffer request_buffer;  // of an end: of its request, if that is an operation, too
    uint64_t number = 0;
    uint32_t shard = 0;
    uint32_t id = 0;  // of the request
    segment::OperationKind kind = segment::OperationKind::kRequest;
  };
  // Of an operation that a repair has executed in a shard that is busy since: the operation may
  // still be linked in the publication list.
  struct Retired {
    OperationBuffer buffer;
    // Set by the worker, which has entered the shard since.
    std::shared_ptr<std::atomic<bool>> is_unlinked;
  };

  Agent(std::shared_ptr<Attachment> attachment, const segment::AgentRef& self,
        platform::Doorbell doorbell);

  // A request that dead processes keep from its lock. It is made again once they are reaped.
  struct Postponed {
    std::u16string name;
    std::u16string label;
    std::u16string call_site;
    RequestParams request;
  };
  Result<RequestReply> Submit(uint32_t id, const segment::ResourceName& name,
                              const RequestParams& request, int attempts = 0);
  Result<RequestReply> AnswerLater(uint32_t id, const segment::ResourceName& name,
                                   const RequestParams& request, Result<RequestReply> reply,
                                   int attempts);
  Result<bool> PostponeIfDead(uint32_t id, const segment::ResourceName& name,
                              const RequestParams& request, const Blocker& blocker, int attempts);
  void SubmitPostponed(uint32_t id, int attempts, std::vector<RequestEvent>& events);
  void Settle(uint32_t id, const Result<RequestReply>& reply, std::vector<RequestEvent>& events);
  void RepairIfBusy(const Status& status) {
    if (status.code() == StatusCode::kBusy) attachment_->worker().RepairShards();
  }
  bool EndIdleBiased();
  void SweepBiased();
  bool UpdateContention(Entry& entry);
  Loss EndEntry(uint32_t id, EndReason reason);
  Loss EndLater(uint32_t id, EndReason reason, segment::CellState seen);
  void EndByWorker(uint32_t id, EndReason reason, segment::CellState seen);
  static Loss LossOf(segment::CellState ended);
  void ReportEnd(uint32_t id, segment::CellState ended, uint64_t token,
                 std::vector<RequestEvent>& events);
  Status PublishRequest(uint32_t id, const segment::ResourceName& name,
                        const RequestParams& request);
  Status PublishEnd(uint32_t id, EndReason reason, segment::CellState seen);
  void Publish(const Operation& operation);
  void MarkAnswered();
  void FreeBuffer(const OperationBuffer& buffer, uint32_t shard);
  void FreeRetired();
  segment::OperationCell& CellOf(const OperationBuffer& buffer) const;
  void DeferEntry(uint32_t shard, const LockTable::OperationRef& operation);
  void ReadWorkerReports(std::vector<RequestEvent>& events);
  void ReadAnswers(std::vector<RequestEvent>& events);
  void ReadAnswer(const Operation& operation, std::vector<RequestEvent>& events);
  Result<RequestReply> AnswerMiss(const Operation& operation, const RequestReply& reply);
  void EndRecord(const RecordRef& record);
  void ApplyPriorities();
  bool IsPriorityApplied(uint32_t id, Priority priority);
  void EnterLater(uint32_t shard);
  void LeaveToParent();
  uint32_t TakeEntry();
  void FreeEntry(uint32_t id);
  void ForgetHold(Entry& entry);
  static bool IsHolding(EntryState state) {
    return state == EntryState::kHeld || state == EntryState::kBiased;
  }
  static bool HasRecord(EntryState state) {
    return state == EntryState::kQueued || IsHolding(state);
  }
  static bool IsWaiting(EntryState state) {
    return state == EntryState::kArriving || state == EntryState::kQueued ||
           state == EntryState::kLeaving;
  }
  void SetState(uint32_t id, EntryState state) {
    const bool waited = IsWaiting(entries_[id].state);
    entries_[id].state = state;
    if (waited != IsWaiting(state)) CountWaiting(!waited);
  }
  void CountWaiting(bool waits);
  void Adopt(uint32_t id, const RequestReply& reply, uint64_t hold_due_ns);
  void BeginRescan();
  void Rescan(std::vector<RequestEvent>& events);
  void RescanLater(uint32_t shard);
  void Read(const RecordEvent& record, std::vector<RequestEvent>& events);
  bool IsUnknown(const RecordEvent& record);
  void EndByWorker(uint32_t shard, std::vector<RecordRef> records);
  Entry* Find(const RecordEvent& record);
  void SweepAt(uint64_t now_ns);
  void CheckRecords();

  std::shared_ptr<Attachment> attachment_;
  segment::AgentRef self_;
  segment::AgentEntry& entry_;
  platform::Doorbell doorbell_;
  std::shared_ptr<WorkerReports> worker_reports_ = std::make_shared<WorkerReports>();
  std::vector<Operation> operations_;
  std::vector<Retired> retired_;
  std::map<uint32_t, std::shared_ptr<DeferredEntry>>
      deferred_entries_;                     // of the background worker, by shard
  std::map<uint32_t, Postponed> postponed_;  // by id
  std::map<uint32_t, Priority> priorities_;  // by id: changes that are not in effect yet
  std::set<uint32_t> entering_;              // the shards that the worker enters for these
  AdaptiveSpin adaptive_spin_;
  std::vector<Entry> entries_;  // the mirror, by id
  std::vector<uint32_t> free_ids_;
  std::vector<RecordEvent> records_;  // kept to reuse its memory
  std::vector<RecordRef> blocked_;    // waiting requests whose blockers may have changed
  AgentWatches watches_;
  BiasedSlots biased_slots_;
  uint32_t contention_watches_ = 0;  // entries whose holders are notified of waiters
  uint32_t queued_ = 0;
  Waiter waiter_;  // whether queued_ is above 0
  uint32_t in_use_ = 0;
  uint32_t scan_ = 0;
  // The rescan under way: the rest of this shard and the later shards are to be read.
  struct {
    bool is_running = false;
    bool is_complete = true;  // so far: no shard was busy
    uint32_t shard = 0;
    LockTable::RescanPosition position;
  } rescan_;
  uint32_t next_check_ = 0;  // of entries_, in the sweep
  uint64_t next_sweep_ns_ = 0;
  uint64_t turn_ms_ = 0;  // when the first request of this turn was made
  uint32_t sleep_;        // the number of the last one
  bool is_new_turn_ = true;
  bool is_rung_ = false;  // perhaps, and not drained since
  Status bucket_status_;
  bool is_closed_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_AGENT_H_
