// Rebuilds a shard from its records after somebody died inside it, or found damage (invariant I2).
//
// Runs inside the shard lock. Idempotent and restartable: it may die anywhere and be run again.
// Unlike everything else inside the lock it allocates and makes system calls: it is rare, and what
// it asks (who lives?) cannot be known otherwise.
#ifndef HOLDFAST_SEGMENT_REPAIR_H_
#define HOLDFAST_SEGMENT_REPAIR_H_

#include <unordered_map>
#include <vector>

#include "segment/host.h"
#include "segment/intact_names.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

class ShardRepair {
 public:
  ShardRepair(ShardView shard, Host& host);

  // Afterwards all invariants hold but I6: the caller clears `dirty`, grants what has become
  // grantable and makes every agent rescan, still inside the shard: should it die before the end,
  // the lock word says so, and the next one repairs again. Returns the names that are in use.
  std::vector<CellId> Run();

 private:
  // What was read and checked, once: the segment may change under a repair, too.
  struct Request {
    RequestCell* cell;
    CellId id;
    CellId name;
    CellState state;
    uint64_t ticket;
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
  void FreeTheRest();
  void Keep(CellId id) { kept_[id - 1] = true; }
  NameCell& KeepName(CellId id);
  void KeepText(CellId id, Shared<CellId>& first, uint32_t length);

  ShardView shard_;
  Host& host_;
  std::vector<Request> requests_;  // by ticket
  IntactNames names_;
  std::unordered_map<CellId, NameCell*> kept_names_;
  std::vector<bool> kept_;  // by cell number
  enum class Life : unsigned char { kUnknown, kAlive, kDead };
  std::vector<Life> life_;  // by process slot, of its newest generation
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_REPAIR_H_
