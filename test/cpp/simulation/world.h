// Processes with threads on one simulated machine. A seed decides which thread runs at every step,
// and a process can be killed, stopped and resumed wherever its threads are.
//
// Threads are fibers. They give the turn away at the points of the checked core (behind every load
// from and store to the segment) and where they sleep. Time passes a little with every step, and
// jumps when all sleep.
//
// A killed process has no effect on anything any more, but its threads run on to their end over a
// private copy of the segment (`IsGhost`), so that nothing of the test program is left behind.
#ifndef HOLDFAST_TEST_SIMULATION_WORLD_H_
#define HOLDFAST_TEST_SIMULATION_WORLD_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "platform/critical_section_mark.h"
#include "segment/shared.h"
#include "simulation/fiber.h"
#include "simulation/kernel.h"

namespace holdfast::test {

struct SimProcess {
  uint32_t id = 0;
  uint32_t threads = 0;
  bool is_dead = false;
  bool is_stopped = false;
  std::mutex scan;
};

// Reads the segment without passing a point, as no program on the machine can.
class Undisturbed {
 public:
  Undisturbed() : observer_(std::exchange(segment::store_observer, {})) {}
  ~Undisturbed() { segment::store_observer = observer_; }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  segment::StoreObserver observer_;
};

class World {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  // `points`: how many points a thread passes between two turns, on the average.
  // `step_ns`: how long a turn takes.
  World(uint64_t seed, uint32_t points, uint64_t step_ns);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The world that exists, or null.
  static World* Current();

  Kernel& kernel() { return kernel_; }
  uint64_t now_ns() const { return now_ns_; }
  uint64_t NextTick() { return ++tick_; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool OneIn(uint32_t chances) { return Below(chances) == 0; }

  SimProcess& StartProcess();
  // Returns a number for Join.
  uint64_t StartThread(SimProcess& process, std::function<void()> main);
  void Kill(SimProcess& process);
  void Stop(SimProcess& process) { process.is_stopped = true; }
  void Resume(SimProcess& process) { process.is_stopped = false; }
  // From now on, one in so many threads that leave a shard, or have failed to enter it, ends its
  // turn right behind that, before it rings any agent. TakeDoomed() returns its process
  // then.
  void DoomLeavers(uint32_t chances) { doom_chances_ = chances; }
  SimProcess* TakeDoomed() { return std::exchange(doomed_, nullptr); }
  // Lets one thread have its turn. False: all sleep, and nothing will wake them.
  bool Step();
  bool HasThreads() const { return !threads_.empty(); }
  // The threads that there are, and what each is doing.
  std::string Describe() const;

  // From inside a thread.
  bool IsInside() const { return current_ != nullptr; }
  SimProcess& process() { return *current_->process; }
  // The process of this thread is dead: what it still does has no effect.
  bool IsGhost() const { return current_ != nullptr && current_->process->is_dead; }
  void Point();
  // Until another thread wakes `channel`, at most until `deadline_ns`.
  void Sleep(const void* channel, uint64_t deadline_ns);
  void Wake(const void* channel);
  // Sets the deadline of the sleeper there, without waking it.
  void SetDeadline(const void* channel, uint64_t deadline_ns);
  void Join(uint64_t thread);
  platform::CriticalSectionMark& mark() { return current_->mark; }
  // Of the threads of this process.
  std::vector<uint64_t> Marks() const;

 private:
  struct Thread {
    Thread(uint64_t its_number, SimProcess& its_process, std::function<void()> main)
        : number(its_number),
          process(&its_process),
          fiber(std::make_unique<Fiber>(std::move(main))) {}

    uint64_t number;
    SimProcess* process;
    std::unique_ptr<Fiber> fiber;
    const void* channel = nullptr;
    uint64_t deadline_ns = 0;
    platform::CriticalSectionMark mark;
    bool was_inside = false;
  };

  bool IsReady(const Thread& thread) const;
  bool SkipTime();
  void DrawCountdown();
  bool HasLeftAShard();
  bool HasThread(uint64_t number) const;

  std::mt19937_64 random_;
  const uint32_t points_;
  const uint64_t step_ns_;
  uint32_t countdown_ = 1;
  uint32_t doom_chances_ = 0;  // 0: none is
  SimProcess* doomed_ = nullptr;
  uint64_t now_ns_ = 1'000'000'000;
  uint64_t tick_ = 0;
  Kernel kernel_;
  std::list<SimProcess> processes_;
  std::list<Thread> threads_;
  std::vector<Thread*> ready_;  // kept to be used again
  Thread* current_ = nullptr;
  uint64_t last_thread_ = 0;
};

// Only where one exists.
inline World& TheWorld() { return *World::Current(); }

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_WORLD_H_
