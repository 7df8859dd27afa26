#include "core/thread_waits.h"

#include <algorithm>

#include "segment/layout.h"

namespace holdfast::core {

namespace {

// No lock has this token: the thread does not follow its callbacks.
constexpr uint64_t kUnknownToken = 1;
// A longer chain is damage, or a cycle.
constexpr size_t kMaxDepth = 1000;

}  // namespace

uint64_t EnclosingTokenOf(uint64_t word) { return word & (segment::kTokenLimit - 1); }

void ThreadWaits::Add(const Entry& entry) {
  if (!keys_.insert(KeyOf(entry.record.shard, entry.record.ticket)).second) return;
  const size_t at = entries_.size();
  entries_.push_back(entry);
  by_enclosing_.emplace(EnclosingTokenOf(entry.info.enclosing_token), at);
  if (entry.info.token != 0) by_token_.emplace(entry.info.token, at);
}

void ThreadWaits::Complete() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].info.token == 0 && IsRootUnknown(entries_[i], nullptr)) unknown_.push_back(i);
  }
  std::sort(unknown_.begin(), unknown_.end(), [this](size_t a, size_t b) {
    return entries_[a].info.requested_ms < entries_[b].info.requested_ms;
  });
}

std::vector<const ThreadWaits::Entry*> ThreadWaits::InsideOf(uint64_t token) const {
  std::vector<const Entry*> inside;
  const auto [begin, end] = by_enclosing_.equal_range(token);
  for (auto it = begin; it != end; ++it) inside.push_back(&entries_[it->second]);
  return inside;
}

std::vector<const ThreadWaits::Entry*> ThreadWaits::PerhapsInsideSince(uint64_t granted_ms) {
  std::vector<const Entry*> inside;
  while (!unknown_.empty()) {
    const Entry& newest = entries_[unknown_.back()];
    if (newest.info.requested_ms < granted_ms) break;
    unknown_.pop_back();
    inside.push_back(&newest);
    (void)IsRootUnknown(newest, &inside);
  }
  return inside;
}

// `between`, if not null, gets the locks on the way.
bool ThreadWaits::IsRootUnknown(const Entry& entry, std::vector<const Entry*>* between) const {
  uint64_t token = EnclosingTokenOf(entry.info.enclosing_token);
  for (size_t depth = 0; depth < kMaxDepth; ++depth) {
    if (token == kUnknownToken) return true;
    const auto enclosing = by_token_.find(token);
    if (enclosing == by_token_.end()) return false;
    const Entry& lock = entries_[enclosing->second];
    if (between != nullptr) between->push_back(&lock);
    token = EnclosingTokenOf(lock.info.enclosing_token);
  }
  return false;
}

}  // namespace holdfast::core
