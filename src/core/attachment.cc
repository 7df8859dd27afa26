#include "core/attachment.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/peer_doorbells.h"
#include "platform/clock.h"
#include "platform/known_fd.h"
#include "platform/process_identity.h"

namespace holdfast::core {

using segment::Geometry;
using segment::ProcessRef;

namespace {

constexpr const char* kSegmentName = "segment";
// How many dead processes a new process has reaped: usually more than die while one starts.
constexpr uint32_t kMaxToCleanUp = 8;
// A process that makes requests notices within this time that the segment was removed or replaced.
constexpr uint64_t kCheckIntervalNs = 10'000'000;

// The segments that this process has open. Never destroyed: threads may still run at exit.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Attachment>> attachments;
};

// Made when the addon is loaded. Otherwise a thread of a forked child would wait for ever for a
// first use that another thread of the parent had begun.
Registry* const kRegistry = new Registry;

// Another thread of the parent may have locked it, or may have been changing it. The child uses
// none of its parent's attachments.
platform::ForkedChildReset reset_registry([] { new (kRegistry) Registry; });

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
                  segment::TokenAt(platform::RealtimeNs()),
                  {{platform::RandomWord(), platform::RandomWord()}});
}

Status CheckLayout(const void* base) {
  return segment::Segment::CheckLayout(*static_cast<const segment::SegmentHeader*>(base));
}

bool HasOtherLayout(const void* base) {
  return CheckLayout(base).code() == StatusCode::kVersionMismatch;
}

// Replaces a segment that another version has left, so that an update needs no manual removal.
// A segment that processes use stays.
Result<platform::SegmentFile> OpenSegment(const platform::BucketDirectory& directory,
                                          uint64_t capacity) {
  const platform::BucketDirectory::SegmentInit init{capacity, &FixedBytes, &HasOtherLayout,
                                                    &InitializeSegment};
  Result<platform::SegmentFile> file = directory.OpenSegment(kSegmentName, init);
  if (!file.ok() || !HasOtherLayout(file->base())) return file;
  const Result<bool> removed = directory.RemoveUnused(kSegmentName, *file);
  if (!removed.ok()) return removed.status();
  if (!*removed) return file;
  return directory.OpenSegment(kSegmentName, init);
}

}  // namespace

Attachment::Attachment(platform::BucketDirectory directory, platform::SegmentFile file,
                       const AttachOptions& options)
    : directory_(std::move(directory)),
      file_(std::move(file)),
      path_(PathOf(options)),
      bucket_(options.bucket),
      segment_(file_.base(), Geometry::ForCapacity(file_.size())),
      slots_(directory_, segment_),
      host_(directory_, file_, segment_, slots_) {
  segment_.UseBacking(host_.backing());
}

Result<std::shared_ptr<Attachment>> Attachment::Attach(const AttachOptions& options) {
  if (!segment::IsValidCapacity(options.capacity)) {
    return Status(StatusCode::kInvalidArgument,
                  "the capacity must be 1 MiB to 16 GiB, a multiple of 4096 bytes");
  }
  Registry& registry = *kRegistry;
  const std::lock_guard<std::mutex> guard(registry.mutex);
  std::erase_if(registry.attachments, [](const auto& known) { return known.expired(); });
  // Another user has another default directory: two threads would hold one lock.
  for (const std::weak_ptr<Attachment>& known : registry.attachments) {
    const std::shared_ptr<Attachment> attachment = known.lock();
    if (attachment == nullptr || attachment->user_id_ == platform::EffectiveUserId()) continue;
    if (attachment->bucket_ != options.bucket || attachment->path_ == PathOf(options)) continue;
    return Status(StatusCode::kNoAccess,
                  "this process has changed its user since it opened this bucket in the directory "
                  "of the former one: open it after the change, or close it before");
  }
  Result<platform::BucketDirectory> directory =
      platform::BucketDirectory::Open(options.directory, options.bucket, options.users);
  if (!directory.ok()) return directory.status();
  Result<platform::SegmentFile> file = OpenSegment(*directory, options.capacity);
  if (!file.ok()) return file.status();
  for (const std::weak_ptr<Attachment>& known : registry.attachments) {
    std::shared_ptr<Attachment> attachment = known.lock();
    // An attachment that has reported its loss is not used again, even if the file has come back.
    if (attachment != nullptr && attachment->why_lost_ == nullptr &&
        attachment->slots_.AreOn(*file))
      return attachment;
  }
  // Without a layout there is no geometry.
  const Status layout = CheckLayout(file->base());
  if (!layout.ok()) return layout;
  std::shared_ptr<Attachment> attachment(
      new Attachment(std::move(*directory), std::move(*file), options));
  const Status joined = attachment->Join(options);
  if (!joined.ok()) return joined;
  registry.attachments.push_back(attachment);
  return attachment;
}

Status Attachment::Join(const AttachOptions& options) {
  const Status header = segment_.CheckHeader();
  if (!header.ok()) return header;
  const Result<platform::BootId> boot_id = platform::ReadBootId();
  if (boot_id.ok()) segment_.AdoptBoot(*boot_id);
  const Status opened = slots_.Open(kSegmentName, file_);
  if (!opened.ok()) return opened;
  const Status claimed = slots_.Claim();
  if (!claimed.ok()) return claimed;
  const Status made = MakeLifeline();
  if (!made.ok()) return made;
  const Status guarded = fork_guard_.Register(
      [](void* self) { static_cast<Attachment*>(self)->is_forked_child_ = true; }, this);
  if (!guarded.ok()) return guarded;
  fork_guard_.Add(slots_.lock().fd());
  fork_guard_.Add(lifeline_->fd());
  lock_table_.emplace(segment_, host_, slots_.self());
  operations_.emplace(segment_, host_, slots_.self());
  worker_.emplace(*lock_table_, directory_, BackgroundWorker::Options{options.sweeps});
  ReapTheDead({slots_.self().slot, slots_.self().generation - 1});
  return Status();
}

Status Attachment::MakeLifeline() {
  Result<platform::Doorbell> lifeline =
      platform::Doorbell::Create(directory_, LifelineName(segment_, slots_.self()));
  if (!lifeline.ok()) return lifeline.status();
  lifeline_.emplace(std::move(*lifeline));
  slots_.lock().MoveAbove(lifeline_->fd());
  // If this fails, a stray close() of the descriptor is still detected.
  (void)slots_.lock().Keep();
  return Status();
}

// If the slot has a new owner, that owner has reaped the previous one, or both are reaped together.
void Attachment::FollowCombiner(const segment::OperationCell& operation) {
  const uint16_t slot = operation.combiner_slot.Get();
  if (slot == lock_table_->self().slot || slot >= segment_.geometry().processes) return;
  const bool is_steal = operation.steals.Get() != 0;
  // A request that waits may have notified a holder (Contention).
  const bool waits = operation.outcome.Get() == static_cast<uint32_t>(RequestOutcome::kQueued);
  if (operation.kind.Get() == segment::OperationKind::kRequest && !is_steal && !waits) return;
  (void)worker_->Watch({slot, segment_.process(slot).generation.Acquire()});
}

void Attachment::ReapTheDead(ProcessRef predecessor) {
  // The background worker reaps: that ends records, reads all agents, and wakes some. Peers leave
  // the predecessor to it: they check the newest process of a slot, which is alive.
  const bool was_clean =
      segment_.process(predecessor.slot).cleaned_generation.Acquire() == predecessor.generation;
  if (!was_clean) (void)worker_->Watch(predecessor);
  // No process may have watched the dead: their entries and files must not pile up.
  (void)worker_->ReapDeadProcesses(kMaxToCleanUp);
}

Attachment::~Attachment() {
  fork_guard_.Unregister();
  if (worker_) worker_->Stop();
  slots_.Leave();
}

Status Attachment::CheckAttached(uint64_t now_ns) {
  const char* why = why_lost_.load(std::memory_order_relaxed);
  if (why != nullptr) return Status(StatusCode::kDisconnected, why);
  const bool found_fault = slots_.TakeFault();
  if (!found_fault && now_ns < next_check_ns_.load(std::memory_order_relaxed)) return Status();
  next_check_ns_.store(now_ns + kCheckIntervalNs, std::memory_order_relaxed);
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
  if (slots_.IsLockClosed()) {
    return "a descriptor of the lock table was closed by something else in this process: what this "
           "thread held or asked for is lost";
  }
  if (slots_.WasReaped()) {
    return "this process was taken for dead: what this thread held or asked for is lost";
  }
  return nullptr;
}

Result<std::array<platform::UniqueFd, 2>> Attachment::ShareLife() const {
  Result<platform::UniqueFd> lifeline = platform::Duplicate(lifeline_->fd());
  if (!lifeline.ok()) return lifeline.status();
  Result<platform::UniqueFd> slot = platform::Duplicate(slots_.lock().fd());
  if (!slot.ok()) return slot.status();
  return std::array{std::move(*lifeline), std::move(*slot)};
}

}  // namespace holdfast::core
