// The platform contracts over the simulated kernel: what has a name or a descriptor.
//
// The linker takes these in place of the real implementations: all of the core runs as it is.
#include <utility>

#include "platform/bucket_directory.h"
#include "platform/clock.h"
#include "platform/death_watch.h"
#include "platform/doorbell.h"
#include "platform/fd.h"
#include "platform/process_identity.h"
#include "platform/segment_file.h"
#include "platform/slot_lock.h"
#include "simulation/world.h"

namespace holdfast {
inline namespace platform {
namespace {

using Kind = test::Descriptor::Kind;
using test::TheWorld;

test::Kernel& TheKernel() { return TheWorld().kernel(); }
// The dead call in vain.
bool IsGhost() { return TheWorld().IsGhost(); }
void Point() { TheWorld().Point(); }

UniqueFd Open(Kind kind, std::shared_ptr<test::Fifo> fifo = nullptr,
              std::shared_ptr<test::Watcher> watcher = nullptr) {
  test::Descriptor descriptor;
  descriptor.kind = kind;
  descriptor.fifo = std::move(fifo);
  descriptor.watcher = std::move(watcher);
  return UniqueFd(TheKernel().Open(std::move(descriptor)));
}

}  // namespace

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old < 0 || IsGhost()) return;
  TheKernel().Close(old);
  Point();
}

Result<BucketDirectory> BucketDirectory::Open(const std::string&, const std::string&, Users) {
  return BucketDirectory(platform::Open(Kind::kOther), Access::Private());
}

Result<SegmentFile> BucketDirectory::OpenSegment(const char*, const SegmentInit& init) const {
  // Others see a new file complete or not at all.
  if (std::exchange(TheKernel().is_new_segment, false)) {
    const test::Undisturbed undisturbed;
    init.initialize(TheKernel().memory(), init.capacity);
  }
  return SegmentFile::Map(platform::Open(Kind::kOther), init.capacity);
}

// The programs of the simulation are all of one version.
Result<bool> BucketDirectory::RemoveUnused(const char*, const SegmentFile&) const { return false; }

Status BucketDirectory::Unlink(const std::string& name) const {
  if (!IsGhost()) TheKernel().files().erase(name);
  Point();
  return Status();
}

Result<SegmentFile> SegmentFile::Map(UniqueFd fd, uint64_t size) {
  return SegmentFile(std::move(fd), TheKernel().Map(TheWorld().process().id), size);
}

SegmentFile::SegmentFile(UniqueFd fd, void* base, uint64_t size)
    : fd_(std::move(fd)), base_(base), size_(size) {}

SegmentFile::SegmentFile(SegmentFile&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)), size_(other.size_) {}

SegmentFile::~SegmentFile() { Unmap(); }

void SegmentFile::Unmap() {
  if (base_ != nullptr) TheKernel().Unmap(static_cast<std::byte*>(base_));
}

Status SegmentFile::Allocate(uint64_t, uint64_t) {
  Point();
  return Status();
}

Result<bool> SegmentFile::IsAt(const std::string&) const { return true; }

FileId FileIdOf(int) { return {}; }

int MarkFile(int) { return kNoMark; }
int MarkOf(int) { return kNoMark; }

DescriptionPin::~DescriptionPin() = default;

// No program of the simulation closes what is not its own.
Status SlotLock::Keep() { return Status(); }

bool SlotLock::IsIntact(uint32_t) const { return true; }

Result<SlotLock> SlotLock::Open(const BucketDirectory&, const char*) {
  return SlotLock(platform::Open(Kind::kSlotLock));
}

// Which descriptor of the dead is closed first is left to chance.
void SlotLock::MoveAbove(int) {}

// The registry of the core has the segments of its process; here it has the segments of all.
Result<bool> SlotLock::Matches(const SegmentFile& file) const {
  return TheKernel().At(fd()).process == TheKernel().At(file.fd()).process;
}

Result<bool> SlotLock::TryClaim(uint32_t slot) const {
  const int owner = TheKernel().SlotOwner(slot);
  if (IsGhost() || (owner != 0 && owner != fd())) return false;
  TheKernel().SetSlotOwner(slot, fd());
  Point();
  return true;
}

Result<bool> SlotLock::IsClaimed(uint32_t slot) const {
  const int owner = TheKernel().SlotOwner(slot);
  const bool is_claimed = owner != 0 && owner != fd();
  Point();
  return is_claimed;
}

void SlotLock::Unclaim(uint32_t slot) const {
  if (!IsGhost()) TheKernel().SetSlotOwner(slot, 0);
  Point();
}

Result<Doorbell> Doorbell::Create(const BucketDirectory&, std::string name) {
  auto& files = TheKernel().files();
  const auto found = files.find(name);
  if (IsGhost() || (found != files.end() && found->second->has_reader)) {
    return Status(StatusCode::kBusy, "the name of this doorbell is in use");
  }
  const auto fifo = std::make_shared<test::Fifo>();
  files[name] = fifo;
  return Doorbell(UniqueFd(), platform::Open(Kind::kReader, fifo), std::move(name));
}

Doorbell::Doorbell(UniqueFd directory, UniqueFd fd, std::string name)
    : directory_(std::move(directory)),
      fd_(std::move(fd)),
      name_(std::move(name)),
      owner_process_(ProcessId()) {}

Doorbell::~Doorbell() {
  if (!fd_ || owner_process_ != ProcessId() || IsGhost()) return;
  auto& files = TheKernel().files();
  const auto found = files.find(name_);
  if (found == files.end() || found->second != TheKernel().At(fd_.get()).fifo) return;
  files.erase(found);
  Point();
}

// No program of the simulation blocks its thread for events.
void Doorbell::Wait(uint64_t) const {}

void Doorbell::Drain() const { TheKernel().At(fd_.get()).fifo->is_rung = false; }

Result<PeerDoorbell> PeerDoorbell::Open(const BucketDirectory&, const std::string& name) {
  Point();
  const auto& files = TheKernel().files();
  const auto found = files.find(name);
  if (IsGhost() || found == files.end() || !found->second->has_reader) {
    return Status(StatusCode::kClosed, "the owner of the doorbell has gone");
  }
  return PeerDoorbell(platform::Open(Kind::kWriter, found->second));
}

Status PeerDoorbell::Ring() const {
  Point();
  if (IsGhost()) return Status();
  test::Fifo& fifo = *TheKernel().At(fd_.get()).fifo;
  if (!fifo.has_reader) return Status(StatusCode::kClosed, "the owner of the doorbell has gone");
  fifo.is_rung = true;
  TheWorld().Wake(&fifo);
  Point();
  return Status();
}

Result<DeathWatch> DeathWatch::Create() {
  return DeathWatch(Open(Kind::kOther, nullptr, std::make_shared<test::Watcher>()), UniqueFd());
}

Status DeathWatch::Watch(int fd, uint64_t key) const {
  test::Watcher& watcher = *TheKernel().At(epoll_.get()).watcher;
  const std::shared_ptr<test::Fifo> fifo = TheKernel().At(fd).fifo;
  watcher.interests[fd] = {fifo, key};
  if (!fifo->has_reader) watcher.deaths.push_back(key);
  return Status();
}

void DeathWatch::Unwatch(int fd) const {
  TheKernel().At(epoll_.get()).watcher->interests.erase(fd);
}

void DeathWatch::Abandon() {}

void DeathWatch::Wake() const {
  test::Watcher& watcher = *TheKernel().At(epoll_.get()).watcher;
  watcher.is_woken = true;
  TheWorld().Wake(&watcher);
}

int DeathWatch::Wait(int timeout_ms, uint64_t* keys, int capacity) const {
  const std::shared_ptr<test::Watcher> watcher = TheKernel().At(epoll_.get()).watcher;
  if (watcher->deaths.empty() && !watcher->is_woken) {
    const uint64_t deadline =
        timeout_ms < 0 ? test::World::kForever
                       : TheWorld().now_ns() + static_cast<uint64_t>(timeout_ms) * kNsPerMs;
    TheWorld().Sleep(watcher.get(), deadline);
  }
  watcher->is_woken = false;
  int count = 0;
  for (; count < capacity && !watcher->deaths.empty(); ++count) {
    keys[count] = watcher->deaths.front();
    watcher->deaths.pop_front();
  }
  return count;
}

}  // namespace platform
}  // namespace holdfast
