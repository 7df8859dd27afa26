// The last watcher ends while another one begins, behind any load of the end (watch_ring.h).
#include "segment/shared.h"
#include "segment/watch_ring.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class WatchersThatMeet : public LockTableTest {
 protected:
  // The one ends; the other begins behind so many loads of that. False: it had fewer loads.
  bool Meet(uint32_t loads) {
    watchers.Add(a.ref());
    left_ = loads;
    segment::store_observer.load_hook = [](void* self) {
      static_cast<WatchersThatMeet*>(self)->OnLoad();
    };
    segment::store_observer.context = this;
    watchers.Remove(a.ref());
    segment::store_observer = {};
    return left_ == 0;
  }

  bool IsEachShardMarked() {
    for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
      if ((machine.segment().shard(shard).watched.Get() & 1) == 0) return false;
    }
    return true;
  }

  segment::WatchRegistry watchers{machine.segment()};

 private:
  void OnLoad() {
    if (left_ == 0 || --left_ != 0) return;
    segment::store_observer = {};
    watchers.Add(b.ref());
  }

  uint32_t left_ = 0;
};

TEST_F(WatchersThatMeet, LeaveTheMarksOfTheOneThatStays) {
  uint32_t loads = 1;
  for (; Meet(loads); ++loads) {
    ASSERT_TRUE(IsEachShardMarked()) << "behind load " << loads;
    watchers.Remove(b.ref());
    ASSERT_FALSE(IsEachShardMarked());
  }
  EXPECT_GT(loads, machine.segment().geometry().shards);
}

}  // namespace
}  // namespace holdfast::test
