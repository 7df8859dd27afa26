// The native side of the paths whose instructions are counted: paths <directory> <path>.
//
// Callgrind counts inside the function Counted() alone (--toggle-collect). Work that happens only
// once, such as growing the tables, is over by then; no thread and no system call takes part.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent.h"

namespace {

using holdfast::LockMode;
using holdfast::core::Agent;
using holdfast::core::RequestEvent;
using holdfast::core::RequestOutcome;

constexpr int kWarmUps = 100;
constexpr int kRounds = 1000;
constexpr std::array<char16_t, 12> kUnits = {u'l', u'e', u'd', u'g', u'e', u'r',
                                             u'-', u'2', u'0', u'2', u'6', u'0'};

struct Scene {
  std::unique_ptr<Agent> first;
  std::unique_ptr<Agent> second;
  std::vector<RequestEvent> events;
};

using Path = bool (*)(Scene&);

uint32_t Request(Agent& agent, LockMode mode, RequestOutcome expected, bool& is_right) {
  const holdfast::segment::ResourceName name(kUnits.data(), kUnits.size());
  holdfast::core::RequestParams request;
  request.mode = mode;
  const auto answer = agent.Request(name, request);
  is_right = is_right && answer.ok() && answer->outcome == expected;
  return answer.ok() ? answer->id : 0;
}

bool Exclusive(Scene& scene) {
  bool is_right = true;
  scene.first->End(Request(*scene.first, LockMode::kExclusive, RequestOutcome::kGranted, is_right));
  return is_right;
}

bool Shared(Scene& scene) {
  bool is_right = true;
  scene.first->End(Request(*scene.first, LockMode::kShared, RequestOutcome::kGranted, is_right));
  return is_right;
}

// The second agent waits, and gets the lock from the first one.
bool HandOver(Scene& scene) {
  bool is_right = true;
  const uint32_t held =
      Request(*scene.first, LockMode::kExclusive, RequestOutcome::kGranted, is_right);
  const uint32_t queued =
      Request(*scene.second, LockMode::kExclusive, RequestOutcome::kQueued, is_right);
  scene.first->End(held);
  scene.events.clear();
  scene.second->TakeEvents(scene.events);
  is_right = is_right && scene.events.size() == 1 && scene.second->IsHeld(queued);
  scene.second->End(queued);
  return is_right;
}

[[gnu::noinline]] bool Counted(Path path, Scene& scene) {
  bool is_right = true;
  for (int i = 0; i < kRounds; ++i) is_right = path(scene) && is_right;
  return is_right;
}

Path PathOf(std::string_view name) {
  if (name == "exclusive") return &Exclusive;
  if (name == "shared") return &Shared;
  if (name == "hand-over") return &HandOver;
  return nullptr;
}

std::unique_ptr<Agent> Open(const std::string& directory) {
  const uint64_t client_id[2] = {1, 2};
  auto agent = Agent::Open({directory, "instructions"}, client_id);
  return agent.ok() ? std::move(*agent) : nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  const Path path = count == 3 ? PathOf(arguments[2]) : nullptr;
  if (path == nullptr) {
    (void)std::fputs("paths <directory> exclusive | shared | hand-over\n", stderr);
    return 2;
  }
  Scene scene{Open(arguments[1]), Open(arguments[1]), {}};
  if (scene.first == nullptr || scene.second == nullptr) {
    (void)std::fputs("the bucket cannot be opened\n", stderr);
    return 1;
  }
  bool is_right = true;
  for (int i = 0; i < kWarmUps; ++i) is_right = path(scene) && is_right;
  is_right = Counted(path, scene) && is_right;
  if (!is_right) (void)std::fputs("the path was not the expected one\n", stderr);
  return is_right ? 0 : 1;
}
