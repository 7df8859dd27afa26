#include "simulation/fiber.h"

#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kStackBytes = size_t{256} * 1024;

// Stacks are used again: a simulation starts many fibers.
std::vector<std::unique_ptr<std::byte[]>>& FreeStacks() {
  static std::vector<std::unique_ptr<std::byte[]>> stacks;
  return stacks;
}

std::unique_ptr<std::byte[]> TakeStack() {
  if (FreeStacks().empty()) return std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  auto stack = std::move(FreeStacks().back());
  FreeStacks().pop_back();
  return stack;
}

Fiber* starting = nullptr;  // makecontext() passes no pointers

}  // namespace

Fiber::Fiber(std::function<void()> main) : main_(std::move(main)), stack_(TakeStack()) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  makecontext(&inside_, &Fiber::Enter, 0);
}

Fiber::~Fiber() { FreeStacks().push_back(std::move(stack_)); }

void Fiber::Enter() {
  Fiber* const self = std::exchange(starting, nullptr);
  self->main_();
  self->is_done_ = true;
  self->Pause();
}

void Fiber::Run() {
  starting = this;
  swapcontext(&outside_, &inside_);
}

void Fiber::Pause() { swapcontext(&inside_, &outside_); }

}  // namespace holdfast::test
