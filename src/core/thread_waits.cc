#include "core/thread_waits.h"

#include "segment/layout.h"

namespace holdfast::core {

uint64_t EnclosingTokenOf(uint64_t word) { return word & (segment::kTokenLimit - 1); }

void ThreadWaits::Add(const Entry& entry) {
  if (!keys_.insert(KeyOf(entry.record.shard, entry.record.ticket)).second) return;
  const size_t at = entries_.size();
  entries_.push_back(entry);
  by_enclosing_.emplace(EnclosingTokenOf(entry.info.enclosing_token), at);
}

std::vector<const ThreadWaits::Entry*> ThreadWaits::InsideOf(uint64_t token) const {
  std::vector<const Entry*> inside;
  const auto [begin, end] = by_enclosing_.equal_range(token);
  for (auto it = begin; it != end; ++it) inside.push_back(&entries_[it->second]);
  return inside;
}

}  // namespace holdfast::core
