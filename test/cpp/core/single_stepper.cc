#include "core/single_stepper.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace holdfast::test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxImages = 1 << 14;

// The message of the child to its parent.
struct Record {
  std::atomic<uint64_t> stores;
  std::atomic<size_t> count;
};

// Of the child, in which there is one thread.
std::span<std::byte> watched;
Record* shared_record = nullptr;
std::byte* images = nullptr;

void Protect(int protection) {
  if (mprotect(watched.data(), watched.size(), protection) == -1) std::abort();
}

void TakeImage() {
  const size_t count = shared_record->count.load();
  const std::byte* const last = images + (count - 1) * watched.size();
  if (count == kMaxImages) return;
  if (count > 0 && std::memcmp(last, watched.data(), watched.size()) == 0) return;
  std::memcpy(images + count * watched.size(), watched.data(), watched.size());
  shared_record->count.store(count + 1);
}

#ifdef __x86_64__
void SetTrapFlag(void* context, bool is_set) {
  constexpr greg_t kTrapFlag = 0x100;
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = is_set ? flags | kTrapFlag : flags & ~kTrapFlag;
}
#else
void SetTrapFlag(void*, bool) {}
#endif

// An instruction is about to write: it may, and is the only one to run.
void OnFault(int, siginfo_t* info, void* context) {
  auto* const at = static_cast<std::byte*>(info->si_addr);
  if (at < watched.data() || at >= watched.data() + watched.size()) {
    signal(SIGSEGV, SIG_DFL);  // a real one
    return;
  }
  Protect(PROT_READ | PROT_WRITE);
  SetTrapFlag(context, true);
}

// It has written.
void OnTrap(int, siginfo_t*, void* context) {
  shared_record->stores.fetch_add(1);
  TakeImage();
  SetTrapFlag(context, false);
  Protect(PROT_READ);
}

void Handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

[[noreturn]] void BeStepped(const std::function<void()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  TakeImage();
  Handle(SIGSEGV, &OnFault);
  Handle(SIGTRAP, &OnTrap);
  Protect(PROT_READ);
  body();
  _exit(0);
}

}  // namespace

bool CanStep() {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

Steps StepThrough(std::span<std::byte> memory, const std::function<void()>& body) {
  Steps steps;
  // Whatever else is in the last page is watched, too, and does no harm.
  watched = {memory.data(), (memory.size() + kPage - 1) / kPage * kPage};
  const size_t size = sizeof(Record) + kMaxImages * watched.size();
  void* const shared = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED) return steps;
  shared_record = static_cast<Record*>(shared);
  images = static_cast<std::byte*>(shared) + sizeof(Record);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) BeStepped(body);
  int status = -1;
  waitpid(child, &status, 0);
  const size_t count = shared_record->count.load();
  steps.is_complete = status == 0 && count < kMaxImages;
  steps.stores = shared_record->stores.load();
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const image = images + i * watched.size();
    steps.images.emplace_back(image, image + memory.size());
  }
  munmap(shared, size);
  return steps;
}

}  // namespace holdfast::test
