#include "core/submit_request.h"

#include "core/blockers.h"

namespace holdfast::core {

using segment::AgentRef;
using segment::ProcessRef;

namespace {

// A process that keeps damaging the segment must not keep this thread here.
constexpr int kMaxDeadBlockers = 3;

// Returns whether the process is dead, and if so ends its records in this shard.
Result<bool> ReapIfDead(Attachment& attachment, ProcessRef suspect, uint32_t shard,
                        uint64_t timeout_ns) {
  if (suspect.generation == 0 || attachment.host().IsAlive(suspect)) return false;
  // The background worker, or a sweep if there is none, does the rest.
  (void)attachment.worker().Watch(suspect);
  const Status done = attachment.manager().ReapInShard(suspect, shard, timeout_ns);
  if (!done.ok()) return done;
  return true;
}

// The same for the blockers of a request that missed the lock.
Result<bool> MakeRoom(Attachment& attachment, const segment::ResourceName& name,
                      const Blocker& blocker, uint64_t timeout_ns) {
  const uint32_t shard = name.ShardOf(attachment.manager().segment().geometry().shards);
  if (!blocker.several) return ReapIfDead(attachment, blocker.process, shard, timeout_ns);
  const auto holders = Holders(attachment.manager(), name, timeout_ns);
  if (!holders.ok()) return holders.status();
  bool was_one = false;
  for (const Holdings& holdings : *holders) {
    const Result<bool> was_dead = ReapIfDead(attachment, holdings.process, shard, timeout_ns);
    if (!was_dead.ok()) return was_dead;
    was_one = was_one || *was_dead;
  }
  return was_one;
}

}  // namespace

Result<RequestReply> SubmitRequest(Attachment& attachment, const AgentRef& self,
                                   const segment::ResourceName& name, const LockRequest& request,
                                   uint64_t timeout_ns) {
  for (int attempt = 0;; ++attempt) {
    Result<RequestReply> reply = attachment.manager().Request(self, name, request, timeout_ns);
    if (!reply.ok() || reply->outcome != RequestOutcome::kMissed) return reply;
    if (attempt == kMaxDeadBlockers) return reply;
    const Blocker& blocker = reply->blocker;
    if (!blocker.several && blocker.process == self.process) return reply;
    const Result<bool> made_room = MakeRoom(attachment, name, blocker, timeout_ns);
    if (!made_room.ok()) return made_room.status();
    if (!*made_room) return reply;
  }
}

}  // namespace holdfast::core
