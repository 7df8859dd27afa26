#include "core/attachment.h"

#include <mutex>
#include <utility>
#include <vector>

#include "platform/clock.h"
#include "platform/cpu.h"
#include "platform/duplicate.h"
#include "platform/futex.h"
#include "platform/process_identity.h"

namespace holdfast::core {

using segment::AgentEntry;
using segment::AgentRef;
using segment::Geometry;
using segment::ProcessEntry;
using segment::ProcessRef;

namespace {

constexpr const char* kSegmentName = "segment";
// Reaping a predecessor at the start must not take long; the background worker does the rest.
constexpr uint64_t kOpeningTimeoutNs = 2'000'000;
// How many dead processes a new process reaps: usually more than die while one starts.
constexpr uint32_t kMaxToCleanUp = 8;
// A process that makes requests notices within this time that the segment was removed or replaced.
constexpr uint64_t kPlaceLookEveryNs = 10'000'000;

// The segments that this process has open. Never destroyed: threads may still run at exit.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Attachment>> attachments;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

// For a size that no segment has: more than the file.
uint64_t FixedBytes(uint64_t size) {
  return segment::IsValidCapacity(size) ? Geometry::ForCapacity(size).watch_ring_at : size + 1;
}

std::string PathOf(const AttachOptions& options) {
  return options.directory + "/" + options.bucket + "/" + kSegmentName;
}

void InitializeSegment(void* base, uint64_t capacity) {
  const Result<platform::BootId> boot_id = platform::ReadBootId();
  segment::Segment(base, Geometry::ForCapacity(capacity))
      .Initialize(boot_id.ok() ? *boot_id : platform::BootId{},
                  segment::TokenAt(platform::RealtimeNs()));
}

}  // namespace

Attachment::Attachment(platform::BucketDirectory directory, platform::SegmentFile file,
                       const AttachOptions& options)
    : directory_(std::move(directory)),
      file_(std::move(file)),
      path_(PathOf(options)),
      bucket_(options.bucket),
      segment_(file_.base(), Geometry::ForCapacity(file_.size())),
      backing_(segment_.geometry(), *this),
      clock_id_(platform::MonotonicClockId()),
      peer_doorbells_(directory_, segment_) {
  segment_.UseBacking(backing_);
}

Result<std::shared_ptr<Attachment>> Attachment::Attach(const AttachOptions& options) {
  if (!segment::IsValidCapacity(options.capacity)) {
    return Status(StatusCode::kInvalidArgument,
                  "the capacity must be 1 MiB to 16 GiB, a multiple of 4096 bytes");
  }
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> guard(registry.mutex);
  std::erase_if(registry.attachments, [](const auto& known) { return known.expired(); });
  // Another user has another default directory: two threads would hold one lock.
  for (const std::weak_ptr<Attachment>& known : registry.attachments) {
    const std::shared_ptr<Attachment> attachment = known.lock();
    if (attachment == nullptr || attachment->user_id_ == platform::EffectiveUserId()) continue;
    if (attachment->bucket_ != options.bucket || attachment->path_ == PathOf(options)) continue;
    return Status(StatusCode::kNoAccess,
                  "this process has changed its user since it opened this bucket in the directory "
                  "of the former one; open it after the change, or name a directory that both may "
                  "use");
  }
  Result<platform::BucketDirectory> directory =
      platform::BucketDirectory::Open(options.directory, options.bucket);
  if (!directory.ok()) return directory.status();
  Result<platform::SegmentFile> file =
      directory->OpenSegment(kSegmentName, {options.capacity, &FixedBytes, &InitializeSegment});
  if (!file.ok()) return file.status();
  for (const std::weak_ptr<Attachment>& known : registry.attachments) {
    std::shared_ptr<Attachment> attachment = known.lock();
    // An attachment that has reported its loss is not used again, even if the file has come back.
    if (attachment != nullptr && attachment->why_lost_ == nullptr && attachment->Uses(*file))
      return attachment;
  }
  std::shared_ptr<Attachment> attachment(
      new Attachment(std::move(*directory), std::move(*file), options));
  const Status joined = attachment->Join(options);
  if (!joined.ok()) return joined;
  registry.attachments.push_back(attachment);
  return attachment;
}

bool Attachment::Uses(const platform::SegmentFile& file) const {
  const Result<bool> matches = slot_lock_->Matches(file);
  return matches.ok() && *matches;
}

Status Attachment::Join(const AttachOptions& options) {
  const Status header = segment_.CheckHeader();
  if (!header.ok()) return header;
  const Result<platform::BootId> boot_id = platform::ReadBootId();
  if (boot_id.ok()) segment_.AdoptBoot(*boot_id);
  Result<platform::SlotLock> slot_lock = platform::SlotLock::Open(directory_, kSegmentName);
  if (!slot_lock.ok()) return slot_lock.status();
  const Result<bool> matches = slot_lock->Matches(file_);
  if (!matches.ok()) return matches.status();
  if (!*matches) {
    return Status(StatusCode::kClosed, "the segment was replaced while it was opened; try again");
  }
  slot_lock_.emplace(std::move(*slot_lock));
  const Status claimed = ClaimSlot();
  if (!claimed.ok()) return claimed;
  const ProcessRef predecessor{self_.slot, self_.generation - 1};
  (void)directory_.Unlink(LifelineName(segment_, predecessor));
  Result<platform::Doorbell> lifeline =
      platform::Doorbell::Create(directory_, LifelineName(segment_, self_));
  if (!lifeline.ok()) return lifeline.status();
  lifeline_.emplace(std::move(*lifeline));
  slot_lock_->MoveAbove(lifeline_->fd());
  // If this fails, a stray close() of the descriptor is still detected.
  (void)slot_lock_->Keep();
  const Status guarded = fork_guard_.Register(
      [](void* self) { static_cast<Attachment*>(self)->is_forked_child_ = true; }, this);
  if (!guarded.ok()) return guarded;
  fork_guard_.Add(slot_lock_->fd());
  fork_guard_.Add(lifeline_->fd());
  manager_.emplace(segment_, *this, self_);
  worker_.emplace(*manager_, directory_, BackgroundWorker::Options{options.sweeps});
  // Skipped if the predecessor left nothing behind: reaping reads all agents, and wakes them.
  const bool was_clean =
      segment_.process(self_.slot).cleaned_generation.Acquire() == predecessor.generation;
  if (!was_clean) (void)worker_->CleanUp(predecessor, kOpeningTimeoutNs);
  // No process may have watched the dead: their entries and files must not pile up.
  worker_->ReapDeadProcesses(kMaxToCleanUp);
  return Status();
}

// Clean slots come first, so that the dead are reaped by the processes that wait for them.
Status Attachment::ClaimSlot() {
  Status failure;
  for (const bool only_clean : {true, false}) {
    for (uint32_t slot = 0; slot < segment_.geometry().processes; ++slot) {
      if (TryClaimSlot(slot, only_clean, failure)) return Status();
      if (!failure.ok()) return failure;
    }
  }
  return Status(StatusCode::kTooManyAgents, "too many processes use this bucket");
}

bool Attachment::TryClaimSlot(uint32_t slot, bool only_clean, Status& failure) {
  ProcessEntry& entry = segment_.process(slot);
  const bool is_clean = entry.generation.Get() == entry.cleaned_generation.Get();
  if (only_clean && !is_clean) return false;
  const Result<bool> claimed = slot_lock_->TryClaim(slot);
  if (!claimed.ok()) failure = claimed.status();
  if (!claimed.ok() || !*claimed) return false;
  entry.process_id.Set(platform::ProcessId());
  entry.pid_namespace.Set(platform::PidNamespace());
  uint32_t generation = entry.generation.Get() + 1;
  if (generation == 0) generation = 1;
  // From here on a record with an older generation belongs to a dead process.
  entry.generation.Publish(generation);
  self_ = {static_cast<uint16_t>(slot), generation};
  return true;
}

Attachment::~Attachment() {
  fork_guard_.Unregister();
  if (worker_) worker_->Stop();
  if (self_.generation == 0) return;
  // Records that an agent could not end in time are left to peers, which find this process dead.
  if (!WasReaped() && HasNoAgents()) {
    segment_.process(self_.slot).cleaned_generation.Publish(self_.generation);
  }
  // Must not close a number that now belongs to another file.
  if (slot_lock_->IsIntact(self_.slot)) {
    slot_lock_->Unclaim(self_.slot);
  } else {
    slot_lock_->Abandon();
  }
}

bool Attachment::HasNoAgents() const {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const ProcessRef owner = segment_.AgentAt(i).process;
    if (owner.generation != 0 && owner.slot == self_.slot) return false;
  }
  return true;
}

Status Attachment::CheckPlace() {
  const char* why = why_lost_.load(std::memory_order_relaxed);
  if (why != nullptr) return Status(StatusCode::kDisconnected, why);
  const uint64_t now = platform::MonotonicNs();
  if (now < next_look_ns_.load(std::memory_order_relaxed)) return Status();
  next_look_ns_.store(now + kPlaceLookEveryNs, std::memory_order_relaxed);
  why = FindWhyLost();
  if (why == nullptr) return Status();
  why_lost_.store(why, std::memory_order_relaxed);
  return Status(StatusCode::kDisconnected, why);
}

// Null: no fault is known; also if the system does not answer.
const char* Attachment::FindWhyLost() const {
  const Result<bool> is_at = file_.IsAt(path_);
  if (is_at.ok() && !*is_at) {
    return "the lock table was removed or replaced: what this thread held or asked for is lost "
           "(systemd's RemoveIPC removes the files of a user in /dev/shm at the end of the last "
           "session; see loginctl enable-linger)";
  }
  if (!slot_lock_->IsIntact(self_.slot)) {
    return "a descriptor of the lock table was closed by something else in this process: what this "
           "thread held or asked for is lost";
  }
  if (WasReaped()) {
    return "this process was taken for dead: what this thread held or asked for is lost";
  }
  return nullptr;
}

// A peer that finds a slot without its lock ends everything of that process.
bool Attachment::WasReaped() const {
  const ProcessEntry& entry = segment_.process(self_.slot);
  return entry.generation.Acquire() != self_.generation ||
         entry.cleaned_generation.Acquire() == self_.generation;
}

Result<AgentRef> Attachment::ClaimAgent(const uint64_t (&client_id)[2], uint32_t thread_id) {
  const uint32_t agents = segment_.geometry().agents;
  const uint32_t start = self_.slot * (agents / segment_.geometry().processes);
  for (uint32_t i = 0; i < agents; ++i) {
    const uint32_t index = (start + i) % agents;
    AgentEntry& entry = segment_.agent(index);
    uint64_t free = 0;
    if (entry.owner.Get() != 0 || !entry.owner.CompareExchange(free, self_.ToWord())) continue;
    uint32_t generation = entry.generation.Get() + 1;
    if (generation == 0) generation = 1;
    entry.generation.Publish(generation);
    entry.thread_id.Set(thread_id);
    entry.client_id[0].Set(client_id[0]);
    entry.client_id[1].Set(client_id[1]);
    entry.cpu.Set(0);
    entry.event_head.Exchange(segment::kNoCell);
    entry.sleeping.Exchange(0);
    entry.rescan.Exchange(0);
    entry.answered.Exchange(0);
    const AgentRef agent{static_cast<uint16_t>(index), generation, self_};
    (void)directory_.Unlink(DoorbellName(segment_, {agent.index, generation - 1, self_}));
    return agent;
  }
  return Status(StatusCode::kTooManyAgents, "too many threads and processes use this bucket");
}

void Attachment::ReleaseAgent(const AgentRef& agent) {
  uint64_t owner = self_.ToWord();
  segment_.agent(agent.index).owner.CompareExchange(owner, 0);
}

// A generation that was never claimed: damage, which proves no death.
bool Attachment::IsOfTheFuture(ProcessRef process) const {
  if (process.generation == 0 || process.slot >= segment_.geometry().processes) return false;
  const uint32_t newest = segment_.process(process.slot).generation.Acquire();
  return process.generation - newest < UINT32_MAX / 2;
}

bool Attachment::IsAlive(ProcessRef process) {
  if (!segment_.IsNewest(process)) return IsOfTheFuture(process);
  if (process.slot == self_.slot) return true;
  const Result<bool> claimed = slot_lock_->IsClaimed(process.slot);
  // If the kernel does not answer, the process counts as alive.
  if (!claimed.ok() || *claimed) return true;
  // Through a descriptor of another file, every process would look dead.
  if (slot_lock_->IsIntact(self_.slot)) return false;
  next_look_ns_.store(0, std::memory_order_relaxed);  // CheckPlace() reports this fault
  return true;
}

Result<std::array<platform::UniqueFd, 2>> Attachment::ShareLife() const {
  Result<platform::UniqueFd> lifeline = platform::Duplicate(lifeline_->fd());
  if (!lifeline.ok()) return lifeline.status();
  Result<platform::UniqueFd> slot = platform::Duplicate(slot_lock_->fd());
  if (!slot.ok()) return slot.status();
  return std::array{std::move(*lifeline), std::move(*slot)};
}

void Attachment::FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  platform::FutexWait(word, expected, timeout_ns);
}

void Attachment::FutexWake(std::atomic<uint32_t>* word) { platform::FutexWake(word, 1); }

uint32_t Attachment::CurrentCpu() { return platform::CurrentCpu(); }

void Attachment::Pause() { platform::Pause(); }

uint64_t Attachment::MonotonicNs() { return platform::MonotonicNs(); }

uint64_t Attachment::RealtimeMs() { return platform::CoarseRealtimeMs(); }

void Attachment::Ring(const AgentRef& agent) { peer_doorbells_.Ring(agent); }

void Attachment::RemoveDoorbell(const AgentRef& agent) {
  (void)directory_.Unlink(DoorbellName(segment_, agent));
}

void Attachment::RemoveLifeline(ProcessRef process) {
  (void)directory_.Unlink(LifelineName(segment_, process));
}

Status Attachment::Allocate(uint64_t offset, uint64_t length) {
  const Status allocated = file_.Allocate(offset, length);
  if (allocated.ok()) backing_.Note(offset, length);
  if (allocated.code() != StatusCode::kNoSpace) return allocated;
  return Status(StatusCode::kSegmentFull, "the file system of the lock table is full");
}

}  // namespace holdfast::core
