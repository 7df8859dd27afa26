// The algorithms of the Web Locks standard over plain containers: what the lock table is compared
// with. Requests are numbered in the order in which they were made.
#ifndef HOLDFAST_TEST_SUPPORT_REFERENCE_MODEL_H_
#define HOLDFAST_TEST_SUPPORT_REFERENCE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/request_params.h"
#include "segment/segment.h"

namespace holdfast::test {

struct ModelRequest {
  uint32_t id = 0;
  uint32_t agent = 0;
  bool is_exclusive = true;
  uint32_t limit = 0;  // of shared holders with it; 0: none
  bool has_hold_limit = false;
  std::u16string label{};
  Priority priority = Priority::kUserVisible;

  friend auto operator<=>(const ModelRequest&, const ModelRequest&) = default;
};

class ReferenceModel {
 public:
  struct Resource {
    std::set<ModelRequest> held;
    std::deque<ModelRequest> queue;

    friend bool operator==(const Resource&, const Resource&) = default;
  };

  // Reads the records of a segment, without its links.
  static ReferenceModel Read(segment::Segment& segment);

  core::RequestOutcome Request(const std::u16string& name, const ModelRequest& request,
                               uint32_t max_pending, bool steal) {
    Resource& resource = resources_[name];
    const size_t position = PositionOf(resource, request);
    const bool is_grantable = position == 0 && IsFree(resource, request);
    core::RequestOutcome outcome = core::RequestOutcome::kGranted;
    if (steal) {
      for (const ModelRequest& victim : resource.held) lost_.insert({victim, false});
      resource.held = {request};
    } else if (is_grantable) {
      Pass(resource, 0, request);
      resource.held.insert(request);
    } else if (resource.queue.size() >= max_pending) {
      outcome = core::RequestOutcome::kMissed;
    } else {
      Pass(resource, position, request);
      resource.queue.insert(resource.queue.begin() + static_cast<ptrdiff_t>(position), request);
      outcome = core::RequestOutcome::kQueued;
    }
    Prune();
    return outcome;
  }

  void ChangePriority(uint32_t id, Priority priority) {
    for (auto& [name, resource] : resources_) {
      const auto it = std::find_if(resource.queue.begin(), resource.queue.end(),
                                   [id](const ModelRequest& other) { return other.id == id; });
      if (it == resource.queue.end() || it->priority == priority) continue;
      const bool is_raised = priority > it->priority;
      it->priority = priority;
      std::deque<ModelRequest>& queue = resource.queue;
      auto at = static_cast<size_t>(it - queue.begin());
      // It moves from its position on; the others keep their order.
      while (is_raised && at > 0 && MayPass(queue[at], queue[at - 1])) {
        CountPass(queue[at], queue[at - 1]);
        std::swap(queue[at], queue[at - 1]);
        --at;
      }
      const auto lets_pass = [](const ModelRequest& own, const ModelRequest& next) {
        return next.priority > own.priority || (next.priority == own.priority && next.id < own.id);
      };
      while (!is_raised && at + 1 < queue.size() && lets_pass(queue[at], queue[at + 1])) {
        std::swap(queue[at], queue[at + 1]);
        ++at;
      }
    }
    ProcessQueues();
  }

  // The time of a held lock is over.
  void Expire(uint32_t id) {
    for (auto& [name, resource] : resources_) {
      for (const ModelRequest& holder : resource.held) {
        if (holder.id == id) lost_.insert({holder, true});
      }
      std::erase_if(resource.held, [id](const ModelRequest& holder) { return holder.id == id; });
    }
    ProcessQueues();
  }

  // Release, abort, or the notice taken of a loss.
  void End(uint32_t id) {
    RemoveIf([id](const ModelRequest& request) { return request.id == id; });
  }
  void TerminateAgent(uint32_t agent) {
    RemoveIf([agent](const ModelRequest& request) { return request.agent == agent; });
  }

  const std::map<std::u16string, Resource>& resources() const { return resources_; }
  // Lost, and not yet ended by their agents.
  struct Lost {
    ModelRequest request;
    bool is_expired = false;  // otherwise stolen

    friend auto operator<=>(const Lost&, const Lost&) = default;
  };
  const std::set<Lost>& lost() const { return lost_; }
  bool IsHeld(uint32_t id) const;
  bool IsQueued(uint32_t id) const;
  std::string ToString() const;
  // Of a request that waits: how many younger ones have passed it.
  uint32_t OvertakesOf(uint32_t id) const {
    const auto it = overtakes_.find(id);
    return it == overtakes_.end() ? 0 : it->second;
  }
  // A process may have died while its request passed others.
  void TakeOvertakesFrom(const ReferenceModel& other) { overtakes_ = other.overtakes_; }
  bool HasOvertakesOf(const ReferenceModel& other) const;
  // Without the overtakes.
  friend bool operator==(const ReferenceModel& a, const ReferenceModel& b) {
    return a.resources_ == b.resources_ && a.lost_ == b.lost_;
  }

 private:
  // Ids rise: a smaller one is older.
  size_t PositionOf(const Resource& resource, const ModelRequest& request) const {
    size_t position = resource.queue.size();
    while (position > 0) {
      if (!MayPass(request, resource.queue[position - 1])) break;
      --position;
    }
    return position;
  }

  void Pass(const Resource& resource, size_t position, const ModelRequest& request) {
    for (; position < resource.queue.size(); ++position) {
      CountPass(request, resource.queue[position]);
    }
  }

  bool MayPass(const ModelRequest& request, const ModelRequest& other) const {
    const bool is_older = request.id < other.id;
    if (request.priority == other.priority) return is_older;
    return request.priority > other.priority && (is_older || OvertakesOf(other.id) < 16);
  }

  void CountPass(const ModelRequest& request, const ModelRequest& passed) {
    if (passed.id < request.id && passed.priority < request.priority) ++overtakes_[passed.id];
  }

  static bool IsFree(const Resource& resource, const ModelRequest& request) {
    for (const ModelRequest& held : resource.held) {
      if (held.is_exclusive || request.is_exclusive) return false;
    }
    return request.limit == 0 || resource.held.size() < request.limit;
  }

  template <typename Predicate>
  void RemoveIf(Predicate predicate) {
    std::erase_if(lost_, [&](const Lost& lost) { return predicate(lost.request); });
    for (auto& [name, resource] : resources_) {
      std::erase_if(resource.held, predicate);
      std::erase_if(resource.queue, predicate);
    }
    ProcessQueues();
  }

  void ProcessQueues() {
    for (auto& [name, resource] : resources_) {
      while (!resource.queue.empty() && IsFree(resource, resource.queue.front())) {
        resource.held.insert(resource.queue.front());
        resource.queue.pop_front();
      }
    }
    Prune();
  }

  void Prune() {
    std::erase_if(resources_, [](const auto& entry) {
      return entry.second.held.empty() && entry.second.queue.empty();
    });
  }

  std::map<std::u16string, Resource> resources_;
  std::set<Lost> lost_;
  std::map<uint32_t, uint32_t> overtakes_;  // by id
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_REFERENCE_MODEL_H_
