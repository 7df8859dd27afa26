// The processes whose death would unblock a request: its blockers, or the holders of a name.
#ifndef HOLDFAST_CORE_BLOCKERS_H_
#define HOLDFAST_CORE_BLOCKERS_H_

#include <cstdint>
#include <vector>

#include "core/lock_table.h"
#include "core/request_params.h"
#include "platform/result.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// The blocker of a waiting request. Inside the shard lock; with corrupted links there is none.
Blocker BlockerOf(const segment::ShardView& shard, const segment::RequestCell& request);
// The same for a request that is missed.
Blocker BlockerOfMiss(const segment::ShardView& shard, const RequestParams& request,
                      const segment::NameCell& name);

// The processes that block a waiting request: its predecessor's, or the processes of all holders.
// Each once.
Result<std::vector<segment::ProcessRef>> Blockers(LockTable& lock_table, const RecordRef& record,
                                                  uint64_t timeout_ns);

// The locks of one name that a process holds.
struct Holdings {
  segment::ProcessRef process;
  uint32_t count = 0;
  bool is_exclusive = false;
};

// The processes that hold the name, in any mode, each once; they may be dead.
Result<std::vector<Holdings>> Holders(LockTable& lock_table, const segment::ResourceName& name,
                                      uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BLOCKERS_H_
