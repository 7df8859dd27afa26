// What one thread has asked for inside callbacks, found by the lock that encloses it.
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

// A thread, whatever number of lock managers it has.
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

  struct Holder {
    uint64_t token = 0;
    uint64_t granted_ms = 0;
  };

  // A request that is inside a lock, or may be; twice is once.
  void Add(const Entry& entry);
  bool Has(uint32_t shard, uint64_t ticket) const { return keys_.contains(KeyOf(shard, ticket)); }
  // All has been added.
  void Complete();

  // What is known to be inside this lock.
  std::vector<const Entry*> InsideOf(uint64_t token) const;
  // What waits and may be inside a lock that was granted then, as nobody knows what it is inside
  // of, with the locks between; each once.
  std::vector<const Entry*> PerhapsInsideSince(uint64_t granted_ms);

  uint32_t open_readings = 0;   // parts of the table that are still read
  std::vector<Holder> holders;  // that were met before all was read

 private:
  static uint64_t KeyOf(uint32_t shard, uint64_t ticket) { return ticket << 16 ^ shard; }
  bool IsRootUnknown(const Entry& entry, std::vector<const Entry*>* between) const;

  std::unordered_set<uint64_t> keys_;
  std::deque<Entry> entries_;
  std::unordered_multimap<uint64_t, size_t> by_enclosing_;
  std::unordered_map<uint64_t, size_t> by_token_;
  std::vector<size_t> unknown_;  // the newest last
};

// The token in LockInfo::enclosing_token: lib keeps something else in the highest bits.
uint64_t EnclosingTokenOf(uint64_t word);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_THREAD_WAITS_H_
