// A thread of execution that runs until it pauses: many of them take turns in one thread of the
// system, in an order that the caller alone decides.
#ifndef HOLDFAST_TEST_SIMULATION_FIBER_H_
#define HOLDFAST_TEST_SIMULATION_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace holdfast::test {

class Fiber {
 public:
  explicit Fiber(std::function<void()> main);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Continues with `main` until it pauses or ends.
  void Run();
  // From inside: gives the turn back to who called Run().
  void Pause();
  bool is_done() const { return is_done_; }

 private:
  using Stack = std::unique_ptr<std::byte[]>;

  static void Enter();

  std::function<void()> main_;
  Stack stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool is_done_ = false;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_FIBER_H_
