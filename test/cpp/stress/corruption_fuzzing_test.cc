// A process writes corruption into the segment while others use it over the real platform: no
// process may fault or hang.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/agent.h"
#include "segment/segment.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

constexpr uint32_t kUsers = 4;
constexpr uint64_t kCorruptions = 20'000;
constexpr uint64_t kTurnsOfEach = 300;
constexpr uint64_t kSnapshotTimeoutNs = 1'000'000;
const std::u16string kNames[] = {u"", u"n", u"m", std::u16string(40, u's'),
                                 std::u16string(150, u'l')};

// The counts that the processes keep, beside the segment.
struct Diary {
  std::atomic<uint32_t> is_over;
  std::atomic<uint64_t> corruptions;
  std::array<std::atomic<uint64_t>, kUsers> turns;
  std::atomic<uint64_t> grants;
  std::atomic<uint64_t> errors;
};

core::AttachOptions OptionsOf(const std::string& directory) {
  core::AttachOptions options;
  options.directory = directory;
  options.bucket = "corruption";
  options.capacity = segment::kMinCapacity;
  options.sweeps = false;
  return options;
}

// Does everything that an agent can do, and comes anew now and then.
class User {
 public:
  User(Diary& diary, const std::string& directory, uint32_t number, uint64_t seed)
      : diary_(diary), options_(OptionsOf(directory)), number_(number), random_(seed) {}

  void Run() {
    while (diary_.is_over.load() == 0) {
      if (agent_ == nullptr) Open();
      if (agent_ != nullptr) Turn();
      diary_.turns[number_].fetch_add(1);
      if (Below(50) == 0) agent_.reset();
    }
    agent_.reset();
  }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  void Open() {
    Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options_, {number_, 1});
    if (agent.ok()) {
      agent_ = std::move(*agent);
    } else {
      diary_.errors.fetch_add(1);
    }
  }

  void Turn() {
    agent_->BeginTurn();
    for (int i = 0; i < 8; ++i) Operate();
    events_.clear();
    agent_->TakeEvents(events_);
    for (const core::RequestEvent& events : events_) {
      if (events.kind == core::RequestEvent::Kind::kGranted) diary_.grants.fetch_add(1);
    }
    if (agent_->GoToSleep()) agent_->WakeUp();
    agent_->OnDoorbellRung();
  }

  void Operate() {
    const std::u16string& name = kNames[Below(std::size(kNames))];
    const segment::ResourceName resource(name.data(), static_cast<uint32_t>(name.size()));
    const uint32_t dice = Below(20);
    if (dice < 9) return Request(resource);
    if (dice == 9) return (void)agent_->IsLocked(resource, 1);
    if (dice == 10) return (void)agent_->TakeSnapshot(kSnapshotTimeoutNs);
    if (dice == 11) return (void)agent_->WouldSelfDeadlock(Below(16));
    agent_->End(Below(16));
  }

  void Request(const segment::ResourceName& name) {
    core::RequestParams request;
    request.mode = Below(3) == 0 ? LockMode::kShared : LockMode::kExclusive;
    if (Below(3) == 0) request.max_pending = Below(3);
    request.steal = request.max_pending == core::kAnyNumber &&
                    request.mode == LockMode::kExclusive && Below(6) == 0;
    if (request.mode == LockMode::kShared) request.limit = Below(4);
    if (Below(6) == 0) request.hold_limit_ns = Below(1'000'000);
    if (Below(4) == 0) request.label = kNames[4];
    const Result<core::Agent::Answer> answer = agent_->Request(name, request);
    if (!answer.ok()) diary_.errors.fetch_add(1);
    if (answer.ok() && answer->outcome == core::RequestOutcome::kGranted)
      diary_.grants.fetch_add(1);
  }

  Diary& diary_;
  const core::AttachOptions options_;
  const uint32_t number_;
  std::mt19937_64 random_;
  std::unique_ptr<core::Agent> agent_;
  std::vector<core::RequestEvent> events_;
};

// The segment as a process sees it that follows no rules.
class Victim {
 public:
  explicit Victim(const std::string& directory)
      : file_(open((directory + "/corruption/segment").c_str(), O_RDWR | O_CLOEXEC)),
        bytes_(static_cast<std::byte*>(mmap(nullptr, segment::kMinCapacity, PROT_READ | PROT_WRITE,
                                            MAP_SHARED, file_.get(), 0))) {}
  ~Victim() { munmap(bytes_, segment::kMinCapacity); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  std::byte* bytes() { return bytes_; }

 private:
  const UniqueFd file_;
  std::byte* const bytes_;
};

// The lock of a shard comes to name a living process that is most likely not inside.
void Accuse(segment::Segment& table, std::mt19937_64& random) {
  const auto slot = static_cast<uint16_t>(random() % (kUsers + 1));
  const segment::ProcessRef accused{slot, table.process(slot).generation.Get()};
  const auto shard = static_cast<uint32_t>(random() % table.geometry().shards);
  table.shard(shard).lock_word.Set(accused.ToShortWord());
}

// Random bytes, zeros, a false owner, or what stood there long ago. Not the first page: a newcomer
// is refused if it is corrupted, and no process would get further.
void CorruptTable(Diary& diary, const std::string& directory, uint64_t seed) {
  constexpr uint64_t kFrom = sizeof(segment::SegmentHeader);
  constexpr uint64_t kTo = uint64_t{256} * 1024;  // where the cells in use are
  Victim victim(directory);
  segment::Segment table(victim.bytes(), segment::Geometry::ForCapacity(segment::kMinCapacity));
  std::mt19937_64 random(seed);
  std::vector<std::byte> old(victim.bytes(), victim.bytes() + kTo);
  while (diary.is_over.load() == 0) {
    const uint64_t at = kFrom + random() % (kTo - kFrom);
    const uint64_t length = std::min<uint64_t>(1 + random() % 16, kTo - at);
    const uint64_t dice = random() % 1000;
    if (random() % 50 == 0) {
      Accuse(table, random);
    } else if (dice == 0) {
      std::memcpy(victim.bytes() + kFrom, old.data() + kFrom, kTo - kFrom);
    } else if (dice == 1) {
      std::memcpy(old.data(), victim.bytes(), kTo);
    } else {
      const bool is_zeros = dice < 300;
      for (uint64_t i = 0; i < length; ++i) {
        victim.bytes()[at + i] = is_zeros ? std::byte{0} : static_cast<std::byte>(random());
      }
    }
    diary.corruptions.fetch_add(1);
    if (random() % 4 == 0) usleep(static_cast<useconds_t>(random() % 100));
  }
}

pid_t Fork(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  _exit(0);
}

// HOLDFAST_STRESS_CORRUPTIONS=<count> makes it longer; HOLDFAST_SEED=<number> repeats the draws.
TEST(CorruptionFuzzing, CausesNoFaultAndNoHangAndTheSegmentCanBeRepaired) {
  const char* const seed_text = std::getenv("HOLDFAST_SEED");
  const char* const count_text = std::getenv("HOLDFAST_STRESS_CORRUPTIONS");
  const uint64_t seed = seed_text == nullptr ? std::random_device{}() : std::stoull(seed_text);
  const uint64_t wanted = count_text == nullptr ? kCorruptions : std::stoull(count_text);
  std::cout << "HOLDFAST_SEED=" << seed << std::endl;
  const TestDirectory test_directory;
  ASSERT_TRUE(
      core::Agent::Open(OptionsOf(test_directory.path()), {1, 1}).ok());  // makes the segment
  auto* const diary = static_cast<Diary*>(
      mmap(nullptr, sizeof(Diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(diary, MAP_FAILED);
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < kUsers; ++i) {
    children.push_back(Fork([&] { User(*diary, test_directory.path(), i, seed + i).Run(); }));
  }
  children.push_back(Fork([&] { CorruptTable(*diary, test_directory.path(), seed + kUsers); }));
  // CTest ends a test that waits for ever, for a process that hangs.
  const auto is_enough = [&] {
    return diary->corruptions.load() >= wanted &&
           std::all_of(diary->turns.begin(), diary->turns.end(),
                       [](const auto& turns) { return turns.load() >= kTurnsOfEach; });
  };
  const auto has_ended = [&](pid_t child) {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  };
  while (!is_enough() && std::none_of(children.begin(), children.end(), has_ended)) usleep(1000);
  diary->is_over.store(1);
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
  }
  std::cout << diary->corruptions.load() << " corruptions, " << diary->grants.load() << " grants, "
            << diary->errors.load() << " errors" << std::endl;
  EXPECT_GT(diary->grants.load(), 0U);
  munmap(diary, sizeof(Diary));

  // The corruption is over, and all are gone. Not all corruption is visible to the process that
  // meets it: these stores are what any process does that meets some.
  Victim victim(test_directory.path());
  segment::Segment table(victim.bytes(), segment::Geometry::ForCapacity(segment::kMinCapacity));
  for (uint32_t i = 0; i < table.geometry().shards; ++i) table.shard(i).dirty.Set(1);
  const auto agent = core::Agent::Open(OptionsOf(test_directory.path()), {1, 1});
  ASSERT_TRUE(agent.ok()) << agent.status().reason();
  for (const std::u16string& name : kNames) {
    core::RequestParams request;
    const auto answer = (*agent)->Request(
        segment::ResourceName(name.data(), static_cast<uint32_t>(name.size())), request);
    ASSERT_TRUE(answer.ok()) << answer.status().reason();
    std::vector<core::RequestEvent> events;
    while (!(*agent)->IsHeld(answer->id)) (*agent)->TakeEvents(events);
  }
}

}  // namespace
}  // namespace holdfast::test
