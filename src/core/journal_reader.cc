#include "core/journal_reader.h"

#include <algorithm>
#include <utility>

namespace holdfast::core {

using segment::Journal;

namespace {

// Between the number and the entry lie a few stores: whoever needs longer is stopped, or dead.
constexpr uint64_t kPatienceNs = 100'000'000;

}  // namespace

JournalReader::JournalReader(const segment::Segment& segment, std::optional<std::u16string> name)
    : journal_(segment),
      slots_(segment.geometry().journal_slots),
      name_(std::move(name)),
      next_(journal_.Last() + 1) {
  const size_t most = segment.geometry().MostJournalUnits();
  if (name_.has_value() && name_->size() > most) name_->resize(most);
}

std::optional<WatchedEvent> JournalReader::Next(uint64_t now_ns) {
  WatchedEvent event;
  for (uint64_t steps = 0; steps < slots_ && Step(now_ns, event); ++steps) {
    if (event.entry.type == 0 || !IsOfInterest(event)) continue;
    event.lost = std::exchange(lost_, 0);
    return event;
  }
  return std::nullopt;
}

// Goes one entry on; its type is 0 where it was lost.
bool JournalReader::Step(uint64_t now_ns, WatchedEvent& event) {
  const uint64_t last = journal_.Last();
  event.entry.type = 0;
  if (last + 1 < next_) next_ = last + 1;  // damage: numbers only rise
  if (last + 1 == next_) return false;
  if (last - next_ >= slots_) {
    lost_ += last - slots_ + 1 - next_;
    next_ = last - slots_ + 1;
  }
  switch (journal_.Read(next_, event.entry, event.name)) {
    case Journal::Found::kEntry:
      ++next_;
      return true;
    case Journal::Found::kNameless:
      event.entry.type = 0;
      Skip();
      return true;
    default:
      // Overwritten while it was read: there is more to lose.
      if (journal_.Last() - next_ >= slots_) return true;
      if (!IsPatienceOver(now_ns)) return false;
      Skip();
      return true;
  }
}

void JournalReader::Skip() {
  ++lost_;
  ++next_;
}

// Of all numbers that are taken by now, the time begins now.
bool JournalReader::IsPatienceOver(uint64_t now_ns) {
  if (next_ > gap_end_) {
    gap_end_ = journal_.Last();
    gap_since_ns_ = now_ns;
  }
  return now_ns - gap_since_ns_ >= kPatienceNs;
}

bool JournalReader::IsOfInterest(const WatchedEvent& event) const {
  return !name_.has_value() || event.name == *name_;
}

}  // namespace holdfast::core
