// Walks the wait-for graph from some requests of one agent, a piece at a time. It reads all
// requests that are in a deadlock with them, and few others.
//
// The walk goes from a waiting request to the holders of its name, and from a holder to the
// requests that its thread has made inside its callback. It is not a snapshot. But it reads every
// edge that exists from its beginning to its end, and the edges of a deadlock do.
#ifndef HOLDFAST_CORE_WAIT_WALK_H_
#define HOLDFAST_CORE_WAIT_WALK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/lock_manager.h"
#include "core/record_copies.h"
#include "core/snapshot.h"
#include "core/thread_waits.h"
#include "platform/result.h"

namespace holdfast::core {

class WaitWalk {
 public:
  struct Options {
    bool with_queues = false;  // also the queues of the names found
  };

  // `starts`: requests of this agent. The manager outlives the walk.
  WaitWalk(LockManager& manager, Options options, std::vector<RecordRef> starts);

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
  struct Found {
    uint64_t ticket = 0;
    LockInfo info;
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

  LockManager& manager_;
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
  std::vector<Found> found_;
  std::vector<uint32_t> order_;  // of found_
  size_t taken_ = 0;             // of order_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_WAIT_WALK_H_
