// Processes that die: each opens the bucket, takes a lock, and is killed while it holds it.
//
//   mortal-processes DIRECTORY DEATHS-A-SECOND
//
// Without Node, of which a machine cannot start a hundred a second. Prints "ready" at the first
// death, and continues until it is ended.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "core/agent.h"
#include "segment/resource_name.h"

namespace {

using holdfast::core::Agent;
using holdfast::core::RequestOutcome;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kNames = 50;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// Never returns normally: the exit status says what went wrong.
[[noreturn]] void HoldAndDie(const char* directory, uint64_t number) {
  holdfast::core::AttachOptions options;
  options.directory = directory;
  options.bucket = "default";
  const uint64_t client_id[2] = {0xDEAD, number};
  auto agent = Agent::Open(options, client_id);
  if (!agent.ok()) _exit(2);
  std::u16string text = u"mortal ";
  for (const char digit : std::to_string(number % kNames)) text += static_cast<char16_t>(digit);
  const holdfast::segment::ResourceName name(text.data(), static_cast<uint32_t>(text.size()));
  holdfast::core::RequestParams request;
  const auto answer = (*agent)->Request(name, request);
  if (!answer.ok() || answer->outcome == RequestOutcome::kMissed) _exit(3);
  kill(getpid(), SIGKILL);
  _exit(4);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 64;
  const uint64_t pause_ns = kNsPerSecond / std::strtoull(arguments[2], nullptr, 10);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  uint64_t due_ns = NowNs();
  for (uint64_t number = 0;; ++number) {
    const pid_t child = fork();
    if (child == -1) return 71;
    if (child == 0) HoldAndDie(arguments[1], number);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) {
      std::fprintf(stderr, "a process ended without the signal: %d\n", status);
      return 1;
    }
    if (number == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
    due_ns += pause_ns;
    const uint64_t now_ns = NowNs();
    if (now_ns < due_ns) usleep(static_cast<useconds_t>((due_ns - now_ns) / 1000));
  }
}
