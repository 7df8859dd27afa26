// The wait-for graph, read from the table: holders, waiters, the requests that a thread made inside
// its callbacks, and the walk that finds a deadlock.
#ifndef HOLDFAST_CORE_WAIT_FOR_GRAPH_H_
#define HOLDFAST_CORE_WAIT_FOR_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/lock_table.h"
#include "core/request_params.h"
#include "core/snapshot.h"
#include "platform/result.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// Copies of requests with all their details, made inside a shard without allocating: the time for
// which peers wait is bounded by the room here.
struct RecordCopy {
  RecordRef record;
  segment::ProcessRef process;
  uint32_t name_length = 0;  // `info.name` has the first units of it
  LockInfo info;
};

class RecordCopies {
 public:
  RecordCopies(LockTable& lock_table, size_t max);

  void Clear() { count_ = 0; }
  bool IsFull() const { return count_ == copies_.size(); }
  // REQUIRES: inside the shard, and not full.
  void Add(const segment::ShardView& shard, segment::CellId id,
           const segment::RequestCell& request);

  size_t size() const { return count_; }
  // Outside of the shard: adds the whole name; a long one needs another entry. False: the request
  // has ended, or the shard could not be entered in time.
  bool Complete(size_t index, uint64_t timeout_ns);
  const RecordCopy& operator[](size_t index) const { return copies_[index]; }

 private:
  void ReadShown(const segment::RequestCell& request, LockInfo& info) const;
  bool ReadLongName(const RecordRef& record, std::u16string& name, uint64_t timeout_ns);

  LockTable& lock_table_;
  std::vector<RecordCopy> copies_;  // each with room for the texts
  size_t count_ = 0;
};

// At most `max` holders of a name, the oldest first; dead ones, too.
Result<std::vector<RecordCopy>> HoldersOf(LockTable& lock_table, const segment::ResourceName& name,
                                          uint32_t max, uint64_t timeout_ns);

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

// Walks the wait-for graph from some requests of one agent, a piece at a time. It reads all
// requests that are in a deadlock with them, and few others.
//
// The walk goes from a waiting request to the holders of its name. From a holder it goes to the
// requests that its thread has made inside its callback. It is not a snapshot. But it reads every
// edge that exists from its beginning to its end, and the edges of a deadlock do.
class WaitWalk {
 public:
  struct Options {
    bool with_queues = false;  // also the queues of the names found
  };

  // `starts`: requests of this agent. The manager outlives the walk.
  WaitWalk(LockTable& lock_table, Options options, std::vector<RecordRef> starts);

  // Continues for a fraction of a millisecond. True: the walk is complete. kBusy: try again.
  Result<bool> GoOn(uint64_t timeout_ns);
  // After the walk: the next requests found, at most `max`; waiting ones in queue order.
  Snapshot Take(size_t max);

 private:
  // A list that is being read, a piece at a time.
  struct Reading {
    enum class List { kHolders, kQueue, kThread };
    List list = List::kHolders;
    uint32_t shard = 0;
    RecordRef anchor{};         // of a name: a request that waits for it
    segment::AgentRef agent{};  // of a thread
    ThreadKey thread{};         // likewise
    RecordRef last{};           // where it continues
    uint32_t max_steps = 0;
  };
  using RecordKey = std::pair<uint32_t, uint64_t>;  // shard, ticket
  struct RecordKeyHash {
    size_t operator()(const RecordKey& key) const {
      return static_cast<size_t>(key.second * 0x9E3779B97F4A7C15 ^ key.first);
    }
  };
  using RecordKeys = std::unordered_set<RecordKey, RecordKeyHash>;

  Status ReadStarts(uint64_t timeout_ns);
  Result<bool> ReadPiece(Reading& reading, uint64_t timeout_ns);
  segment::CellId NextOf(const segment::ShardView& shard, Reading& reading) const;
  segment::CellId FirstOf(const segment::ShardView& shard, const Reading& reading) const;
  bool IsIn(const segment::ShardView& shard, const Reading& reading,
            const segment::RequestCell& request) const;
  bool IsNew(const Reading& reading, const segment::RequestCell& request) const;
  void Keep(const Reading& reading, const RecordCopy& copy);
  void Add(const RecordRef& record, segment::ProcessRef process, const LockInfo& info);
  void AddName(const RecordRef& record, const LockInfo& info);
  void Reach(const ThreadKey& key, uint64_t token);
  void BeginThread(const ThreadKey& key);
  bool AddReached();
  bool IsAlive(segment::ProcessRef process);
  void Sort();

  LockTable& lock_table_;
  const Options options_;
  std::vector<RecordRef> starts_;
  RecordCopies copies_;
  std::deque<Reading> readings_;
  std::unordered_set<std::u16string> names_;  // that were found
  std::map<ThreadKey, ThreadWaits> threads_;
  std::map<ThreadKey, std::vector<segment::AgentRef>>
      agents_;                                     // of all threads, read at the first need
  std::map<uint64_t, bool> is_alive_;              // by ProcessRef word
  std::deque<const ThreadWaits::Entry*> reached_;  // of threads_, to be added
  RecordKeys added_;
  std::vector<LockInfo> found_;
  std::vector<uint32_t> order_;  // of found_
  size_t taken_ = 0;             // of order_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_WAIT_FOR_GRAPH_H_
