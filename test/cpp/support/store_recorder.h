// Images of a machine after the stores that this thread makes to it: the points at which its
// process can die.
#ifndef HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_
#define HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "segment/shared.h"
#include "support/fake_machine.h"

namespace holdfast::test {

// The state that a dying process leaves: the segment, and the doorbells that it has rung by then.
struct Frame {
  FakeMachine::Image image;
  std::vector<segment::AgentRef> rings;
};

class StoreRecorder {
 public:
  // Frame 0 is before any store. Records frame `first`, and every `step`-th from there on.
  StoreRecorder(FakeMachine& machine, size_t first, size_t step)
      : machine_(machine), next_(first), step_(step) {
    PassPoint();
    segment::store_observer = {&StoreRecorder::AfterStore, this};
  }
  ~StoreRecorder() { segment::store_observer = {}; }
  StoreRecorder(const StoreRecorder&) = delete;
  StoreRecorder& operator=(const StoreRecorder&) = delete;

  std::vector<Frame> TakeFrames() { return std::move(frames_); }

 private:
  static void AfterStore(void* self) { static_cast<StoreRecorder*>(self)->PassPoint(); }
  void PassPoint() {
    if (passed_++ != next_) return;
    frames_.push_back({machine_.TakeImage(), machine_.host().Rings()});
    next_ += step_;
  }

  FakeMachine& machine_;
  size_t passed_ = 0;
  size_t next_;
  const size_t step_;
  std::vector<Frame> frames_;
};

// Returns what is left of `operation` behind each of its stores, or behind some of them. Nothing is
// recorded afterwards: an image costs more than what most tests do with it.
inline std::vector<Frame> FramesOf(FakeMachine& machine, const std::function<void()>& operation,
                                   size_t first = 0, size_t step = 1) {
  StoreRecorder recorder(machine, first, step);
  operation();
  return recorder.TakeFrames();
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_
