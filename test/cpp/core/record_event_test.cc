// A read of an event while a process inside the shard ends the record and reuses its cell.
#include "core/record_event.h"

#include <functional>
#include <string>
#include <string_view>

#include "segment/shared.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RecordEvent;
using core::RecordRef;
using segment::CellState;

// Runs `action` once, behind a load of this thread.
class AtLoad {
 public:
  AtLoad(uint32_t load, std::function<void()> action) : left_(load), action_(std::move(action)) {
    segment::store_observer = {nullptr, this, &AtLoad::Behind};
  }
  ~AtLoad() { segment::store_observer = {}; }
  AtLoad(const AtLoad&) = delete;
  AtLoad& operator=(const AtLoad&) = delete;

  bool has_run() const { return left_ == 0; }

 private:
  static void Behind(void* self) { static_cast<AtLoad*>(self)->Count(); }
  void Count() {
    if (--left_ > 0) return;
    segment::store_observer = {};
    action_();
  }

  uint32_t left_;
  std::function<void()> action_;
};

class ReadingEvents : public LockTableTest {
 protected:
  // `b` has lost its lock, and reads so. Behind a load of that, its end and its next request are
  // executed. False: there are fewer loads.
  bool Read(uint32_t load) {
    const RecordRef lost = Request(b, u"n").record;
    const uint32_t id = last_id;
    Request(a, u"n", kSteal);
    const uint32_t stealer = last_id;
    RecordRef next;
    std::vector<RecordEvent> events;
    bool has_run = false;
    {
      AtLoad at(load, [&] {
        EXPECT_TRUE(b.End(id).ok());
        next = Request(b, NameBeside(), kShared).record;
      });
      core::TakeEvents(machine.segment(), b.ref().index, events);
      has_run = at.has_run();
    }
    for (const RecordEvent& event : events) {
      EXPECT_FALSE(event.record.ticket == next.ticket && event.state != CellState::kHeld)
          << "load " << load << " reads of a new request that it has the state of the old one";
      const bool is_free = event.state != CellState::kZombie || Free(event.record);
      EXPECT_TRUE(is_free);
    }
    if (next.cell == lost.cell) ++reused_;
    EXPECT_TRUE(a.End(stealer).ok());
    EXPECT_TRUE(b.End(has_run ? last_id : id).ok());
    return has_run;
  }

  // Another name of the shard of "n".
  std::u16string_view NameBeside() {
    const auto shard_of = [this](std::u16string_view name) {
      return NameOf(name).ShardIn(machine.segment());
    };
    while (shard_of(beside_) != shard_of(u"n")) ++beside_[0];
    return beside_;
  }
  bool Free(const RecordRef& zombie) {
    return b.lock_table().End(zombie, kShardTimeoutNs, core::EndReason::kReleased).ok();
  }

  std::u16string beside_ = u"A";
  uint32_t reused_ = 0;
};

TEST_F(ReadingEvents, NeverMixesARecordWithTheNextOneInItsCell) {
  Request(a, NameBeside(), kShared);  // the name has its cell
  const uint32_t held = last_id;
  uint32_t load = 1;
  while (Read(load)) ++load;
  EXPECT_GT(reused_, 2U);
  EXPECT_TRUE(a.End(held).ok());
}

}  // namespace
}  // namespace holdfast::test
