// Everything that ever stood in the watch ring of the simulated machine, which no program on it can
// know, and its invariants: each lock is granted and ends once, and never two hold one lock.
#ifndef HOLDFAST_TEST_SIMULATION_WATCH_RECORD_H_
#define HOLDFAST_TEST_SIMULATION_WATCH_RECORD_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/agent_watches.h"
#include "segment/segment.h"
#include "simulation/world.h"

namespace holdfast::test {

class WatchRecord {
 public:
  struct Entry {
    segment::WatchRingEntry entry{};
    std::u16string name;
    bool is_late = false;  // it came when a watcher may have given it up already
  };

  explicit WatchRecord(World& world);

  // After every turn, before anything can be overwritten.
  void Read();
  // The writing is over: an incomplete entry stays incomplete.
  void Finish();
  // The newest number, whether its entry is there or not.
  uint64_t last() const { return last_; }
  // Null: was never complete.
  const Entry* At(uint64_t number) const;
  // Whether a watcher that comes to an entry now may find that it was overwritten.
  bool MayBeOverwritten(uint64_t number) const;
  // So many of the numbers behind `from` never got an entry.
  uint64_t CountMissing(uint64_t from) const;
  bool HasGrant(uint64_t token) const { return granted_.contains(token); }
  // Locks granted behind `from` whose end was not recorded.
  std::vector<const Entry*> Unended(uint64_t from) const;
  const std::string& fault() const { return fault_; }

 private:
  struct Pending {
    uint64_t number;
    uint64_t since_ns;
  };
  struct Held {
    std::u16string name;
    bool is_exclusive;
  };

  void NoteWhoWatches();
  void FollowWhatIsComplete();
  void Follow(uint64_t number);
  void FollowGrant(const Entry& entry);
  void FollowEnd(const Entry& entry);
  void Fail(const std::string& what, uint64_t token);

  World& world_;
  segment::Segment table_;
  std::map<uint64_t, Entry> entries_;
  std::vector<Pending> pending_;
  std::set<uint64_t> late_;  // numbers whose entries may have come a round too late
  uint64_t last_ = 0;
  uint64_t followed_ = 0;
  uint64_t watched_ = 0;
  uint64_t known_from_ = 0;  // of what was granted up to here the end may have been missed
  std::map<uint64_t, uint64_t> granted_;  // token, number
  std::map<uint64_t, uint8_t> ended_;     // token, type of the event
  std::map<uint64_t, Held> held_;         // by token
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_WATCH_RECORD_H_
