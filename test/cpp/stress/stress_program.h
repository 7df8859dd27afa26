// One thread of a process of a stress test: an event loop around a core::Agent, as the addon's is
// one.
#ifndef HOLDFAST_TEST_STRESS_STRESS_PROGRAM_H_
#define HOLDFAST_TEST_STRESS_STRESS_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/agent.h"
#include "stress/stress_control.h"
#include "stress/stress_log.h"

namespace holdfast::test {

class StressProgram {
 public:
  struct Setup {
    std::string directory;
    uint32_t process = 0;  // number in the run
    uint32_t row = 0;      // which of the processes that run at a time
    uint32_t seat = 0;
    int call_fd = -1;  // readable when the director has something to say
    uint64_t seed = 0;
  };

  StressProgram(StressControl& control, StressLog& log, const Setup& setup);
  // Until it is to leave.
  void Run();

 private:
  struct Mine {
    StressEntry entry;
    bool is_held = false;
    bool is_leaving = false;   // released, and the answer is still to come
    bool is_watching = false;  // it holds until another request waits
    // The highest priority that waits, as it was notified.
    segment::Contention contention = segment::Contention::kUnwatched;
    uint64_t until_ns = UINT64_MAX;  // when it is released, or taken back
  };

  void Turn();
  void Work();
  void Request();
  core::RequestParams DrawRequest(uint32_t name);
  void Adopt(const core::Agent::Answer& answer, const StressEntry& entry);
  void Hold(uint32_t id, Mine& mine, uint64_t token);
  void End(uint32_t id);
  void EndWhatIsDue();
  void CheckContention(uint32_t id, const Mine& mine);
  void Deliver();
  void Read(const core::RequestEvent& events);
  void CheckLoss(const Mine& mine, bool is_expired);
  void Sleep();
  void ReportIfIdle();
  bool IsLeaving() const { return control_.leaving[setup_.row].load() != 0; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool OneIn(uint32_t chances) { return Below(chances) == 0; }

  StressControl& control_;
  StressLog& log_;
  const Setup setup_;
  std::mt19937_64 random_;
  std::unique_ptr<core::Agent> agent_;
  std::map<uint32_t, Mine> mine_;  // by the agent's number
  std::vector<core::RequestEvent> events_;
  uint64_t next_request_ns_ = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STRESS_STRESS_PROGRAM_H_
