// Rebuilds a shard from its records after a death inside it or found corruption (invariant I2).
//
// Runs inside the shard lock. Idempotent and restartable: the process may die anywhere in it.
// Unlike all other code inside the lock, a repair allocates memory and makes system calls. A repair
// is rare, and it has to check with the kernel which processes live.
#ifndef HOLDFAST_SEGMENT_REPAIR_H_
#define HOLDFAST_SEGMENT_REPAIR_H_

#include <unordered_map>
#include <vector>

#include "segment/host.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

// The valid names of a shard, each once, for a repair. If a name has several cells (it had dropped
// out of its hash bucket, and was added again), the first one found counts.
class IntactNames {
 public:
  explicit IntactNames(ShardView shard)
      : shard_(shard), pieces_(shard.segment().geometry().cells()) {}

  // Checks a name cell, and keeps it if it is valid.
  void Add(CellId id, const NameCell& cell);
  // The cell that was kept for this cell's name; kNoCell: the name is not valid.
  CellId CellOfName(CellId id) const;

 private:
  struct Name {
    CellId id;
    const NameCell* cell;
  };

  bool HasItsPieces(const Name& name);
  bool IsIntact(const Name& name);
  bool HaveEqualUnits(const Name& a, const Name& b) const;

  ShardView shard_;
  std::unordered_multimap<uint64_t, Name> by_hash_;
  std::unordered_map<CellId, CellId> cells_of_names_;
  std::vector<bool> pieces_;  // by cell number: pieces of names found so far
};

class ShardRepair {
 public:
  ShardRepair(ShardView shard, Host& host);

  // Afterwards all invariants hold but I6. The caller clears `dirty`, grants what has become
  // grantable and makes the agents concerned rescan, still inside the shard. If the caller dies
  // before the end, the lock word names a dead process, and the next one repairs again. Returns the
  // names in use.
  std::vector<CellId> Run();

 private:
  // A record, read and checked once: the segment may change even during a repair.
  struct Request {
    RequestCell* cell;
    CellId id;
    CellId name;
    CellState state;
    uint64_t ticket;
    uint64_t order;  // in its queue
    uint64_t token;
    uint32_t limit;
    uint16_t agent;
    bool is_exclusive;
    bool is_alive;
  };
  void ReadRecords();
  void ReadCell(CellId id, AnyCell& cell);
  bool IsOwnerAlive(const RequestCell& request, uint16_t agent);
  void MergeNames();
  void DropRequestsWithoutName();
  void SettleHolders();
  void RestoreOwner(RequestCell& request);
  void NoteDeath(const Request& request);
  void CommitHolders(const std::vector<Request*>& holders);
  void CommitHolder(const Request& request);
  void RaiseCounters();
  void ClearIndex();
  void LinkRequests();
  void LinkQueues();
  void WatchContention();
  void FreeTheRest();
  void Keep(CellId id) { referenced_[id - 1] = true; }
  NameCell& KeepName(CellId id);
  void KeepText(CellId id, Shared<CellId>& first, uint32_t length);

  ShardView shard_;
  Host& host_;
  std::vector<Request> requests_;  // by ticket
  IntactNames names_;
  std::unordered_map<CellId, NameCell*> biased_names_;
  std::unordered_map<CellId, Contention> highest_waiting_;  // by name
  std::vector<bool> referenced_;                            // by cell number
  enum class Life : unsigned char { kUnknown, kAlive, kDead };
  std::vector<Life> life_;  // by process slot, of its newest generation
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_REPAIR_H_
