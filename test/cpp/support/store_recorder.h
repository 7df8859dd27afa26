// Images of a machine after every store that this thread makes to it: all the points at which its
// process can die.
#ifndef HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_
#define HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_

#include <vector>

#include "segment/store_point.h"
#include "support/fake_machine.h"

namespace holdfast::test {

// What a dying process leaves: the segment, and the doorbells that it has rung by then.
struct Frame {
  FakeMachine::Image image;
  std::vector<segment::AgentRef> rings;
};

class StoreRecorder {
 public:
  // Records while it lives; the first frame is before any store.
  explicit StoreRecorder(FakeMachine& machine) : machine_(machine) {
    Record();
    segment::store_observer = {&StoreRecorder::AfterStore, this};
  }
  ~StoreRecorder() { segment::store_observer = {}; }
  StoreRecorder(const StoreRecorder&) = delete;
  StoreRecorder& operator=(const StoreRecorder&) = delete;

  const std::vector<Frame>& frames() const { return frames_; }

 private:
  static void AfterStore(void* self) { static_cast<StoreRecorder*>(self)->Record(); }
  void Record() { frames_.push_back({machine_.TakeImage(), machine_.host().Rings()}); }

  FakeMachine& machine_;
  std::vector<Frame> frames_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_STORE_RECORDER_H_
