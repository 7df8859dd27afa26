// The requests that one thread has made inside callbacks, by enclosing lock.
#ifndef HOLDFAST_CORE_THREAD_WAITS_H_
#define HOLDFAST_CORE_THREAD_WAITS_H_

#include <cstdint>
#include <deque>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/lock_request.h"
#include "core/snapshot.h"

namespace holdfast::core {

// Identifies a thread, for all of its lock managers.
struct ThreadKey {
  uint64_t process = 0;  // ProcessRef as one word
  uint32_t thread_id = 0;

  friend bool operator<(const ThreadKey& a, const ThreadKey& b) {
    return std::tie(a.process, a.thread_id) < std::tie(b.process, b.thread_id);
  }
};

class ThreadWaits {
 public:
  struct Entry {
    RecordRef record;
    segment::ProcessRef process;
    LockInfo info;
  };

  // Adds a request that is inside a lock. Has no effect the second time.
  void Add(const Entry& entry);
  bool Has(uint32_t shard, uint64_t ticket) const { return keys_.contains(KeyOf(shard, ticket)); }

  // The requests inside this lock.
  std::vector<const Entry*> InsideOf(uint64_t token) const;

  uint32_t open_readings = 0;     // parts of the table still to be read
  std::vector<uint64_t> holders;  // tokens of those added before the table was complete

 private:
  static uint64_t KeyOf(uint32_t shard, uint64_t ticket) { return ticket << 16 ^ shard; }

  std::unordered_set<uint64_t> keys_;
  std::deque<Entry> entries_;
  std::unordered_multimap<uint64_t, size_t> by_enclosing_;
};

// The token in LockInfo::enclosing_token: lib stores the option `deadlock` in the highest bits.
uint64_t EnclosingTokenOf(uint64_t word);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_THREAD_WAITS_H_
