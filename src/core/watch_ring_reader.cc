#include "core/watch_ring_reader.h"

#include <algorithm>
#include <utility>

namespace holdfast::core {

using segment::WatchRing;

namespace {

// Only a few stores lie between the number and the entry: a writer that needs longer is stopped or
// dead.
constexpr uint64_t kPatienceNs = 100'000'000;

}  // namespace

WatchRingReader::WatchRingReader(segment::Segment& segment, std::optional<std::u16string> name)
    : watch_ring_(segment),
      slots_(segment.geometry().watch_ring_slots),
      name_(std::move(name)),
      next_(watch_ring_.Last() + 1) {
  const size_t max = segment.geometry().MaxWatchRingUnits();
  if (name_.has_value() && name_->size() > max) name_->resize(max);
}

std::optional<WatchedEvent> WatchRingReader::Next(uint64_t now_ns) {
  WatchedEvent event;
  for (uint64_t steps = 0; steps < slots_ && Step(now_ns, event); ++steps) {
    if (event.entry.type == 0 || !IsOfInterest(event)) continue;
    event.lost = lost_ - std::exchange(lost_told_, lost_);
    return event;
  }
  return std::nullopt;
}

// Advances by one entry; its type is 0 if it was lost.
bool WatchRingReader::Step(uint64_t now_ns, WatchedEvent& event) {
  const uint64_t last = watch_ring_.Last();
  event.entry.type = 0;
  if (last + 1 < next_) next_ = last + 1;  // corruption: numbers only rise
  if (last + 1 == next_) return false;
  if (last - next_ >= slots_) {
    lost_ += last - slots_ + 1 - next_;
    next_ = last - slots_ + 1;
  }
  switch (watch_ring_.Read(next_, event.entry, event.name)) {
    case WatchRing::Found::kEntry:
      ++next_;
      return true;
    case WatchRing::Found::kNameless:
      event.entry.type = 0;
      Skip();
      return true;
    default:
      // Overwritten during the read: count it as lost and continue.
      if (watch_ring_.Last() - next_ >= slots_) return true;
      if (!IsPatienceOver(now_ns)) return false;
      Skip();
      return true;
  }
}

void WatchRingReader::Skip() {
  ++lost_;
  ++next_;
}

// The wait for all numbers taken so far begins now.
bool WatchRingReader::IsPatienceOver(uint64_t now_ns) {
  if (next_ > gap_end_) {
    gap_end_ = watch_ring_.Last();
    gap_since_ns_ = now_ns;
  }
  return now_ns - gap_since_ns_ >= kPatienceNs;
}

bool WatchRingReader::IsOfInterest(const WatchedEvent& event) const {
  if (is_paused_ && !segment::IsIncident(static_cast<segment::LockEvent>(event.entry.type))) {
    return false;
  }
  return !name_.has_value() || event.name == *name_;
}

}  // namespace holdfast::core
