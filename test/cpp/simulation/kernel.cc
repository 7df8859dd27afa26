#include "simulation/kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "simulation/world.h"

namespace holdfast::test {
namespace {

// The memory outlives the single simulation: making mappings is what costs time.
struct Memory {
  int file = memfd_create("simulated segment", 0);
  std::vector<std::byte*> free_views;

  Memory() {
    if (ftruncate(file, static_cast<off_t>(SimulatedCapacity())) != 0) std::abort();
  }
  std::byte* Take() {
    if (free_views.empty()) return Put(nullptr, MAP_SHARED, file);
    std::byte* const view = free_views.back();
    free_views.pop_back();
    return view;
  }
  static std::byte* Put(std::byte* at, int flags, int file) {
    void* const view = mmap(at, SimulatedCapacity(), PROT_READ | PROT_WRITE,
                            flags | (at == nullptr ? 0 : MAP_FIXED), file, 0);
    if (view == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(view);
  }
};

Memory& TheMemory() {
  static Memory memory;
  return memory;
}

}  // namespace

Kernel::Kernel(World& world) : world_(world), memory_(TheMemory().Take()) {
  std::memset(memory_, 0, SimulatedCapacity());
}

Kernel::~Kernel() { TheMemory().free_views.push_back(memory_); }

int Kernel::Open(Descriptor descriptor) {
  descriptor.process = world_.process().id;
  descriptors_.emplace(++last_fd_, std::move(descriptor));
  return last_fd_;
}

void Kernel::Close(int fd) {
  const Descriptor closed = descriptors_.at(fd);
  descriptors_.erase(fd);
  Release(fd, closed);
}

void Kernel::Release(int fd, const Descriptor& closed) {
  for (auto& [other, descriptor] : descriptors_) {
    if (descriptor.watcher != nullptr) descriptor.watcher->interests.erase(fd);
  }
  if (closed.kind == Descriptor::Kind::kReader) {
    closed.fifo->has_reader = false;
    NotifyWatchers(closed.fifo);
  }
  if (closed.kind == Descriptor::Kind::kSlotLock) {
    std::erase_if(slots_, [fd](const auto& slot) { return slot.second == fd; });
  }
}

void Kernel::NotifyWatchers(const std::shared_ptr<Fifo>& fifo) {
  for (auto& [fd, descriptor] : descriptors_) {
    if (descriptor.watcher == nullptr) continue;
    Watcher& watcher = *descriptor.watcher;
    for (const auto& [watched, interest] : watcher.interests) {
      if (interest.fifo == fifo) watcher.deaths.push_back(interest.key);
    }
    world_.Wake(&watcher);
  }
}

int Kernel::SlotOwner(uint32_t slot) const {
  const auto it = slots_.find(slot);
  return it == slots_.end() ? 0 : it->second;
}

void Kernel::SetSlotOwner(uint32_t slot, int fd) {
  if (fd == 0) {
    slots_.erase(slot);
  } else {
    slots_[slot] = fd;
  }
}

std::byte* Kernel::Map(uint32_t process) {
  std::byte* const view = TheMemory().Take();
  views_[view] = process;
  return view;
}

void Kernel::Unmap(std::byte* view) {
  const auto it = views_.find(view);
  if (it == views_.end()) return;
  if (dead_.contains(it->second)) Memory::Put(view, MAP_SHARED, TheMemory().file);
  views_.erase(it);
  TheMemory().free_views.push_back(view);
}

const void* Kernel::Physical(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (const auto& [view, process] : views_) {
    if (byte >= view && byte < view + SimulatedCapacity()) return memory_ + (byte - view);
  }
  return address;
}

void Kernel::Die(uint32_t process) {
  dead_.insert(process);
  for (const auto& [view, owner] : views_) {
    if (owner != process) continue;
    Memory::Put(view, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    std::memcpy(view, memory_, SimulatedCapacity());
  }
}

// In any order: which one comes first is not for the survivors to rely on.
bool Kernel::CloseOneOfTheDead() {
  if (dead_.empty()) return false;
  std::vector<int> open;
  for (const auto& [fd, descriptor] : descriptors_) {
    if (dead_.contains(descriptor.process) && !descriptor.is_closed) open.push_back(fd);
  }
  if (open.empty()) return false;
  const int fd = open[world_.Below(static_cast<uint32_t>(open.size()))];
  descriptors_.at(fd).is_closed = true;  // its ghost may still name it
  Release(fd, descriptors_.at(fd));
  return true;
}

}  // namespace holdfast::test
