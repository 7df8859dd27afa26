#include "segment/watch_ring.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "segment/biased_record.h"
#include "segment/name_table.h"
#include "segment/resource_name.h"

namespace holdfast::segment {

namespace {

// A checksum of words in order: a torn or overwritten entry has another sum.
class Check {
 public:
  explicit Check(uint64_t position) { Add(position); }
  void Add(uint64_t word) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{state_ ^ word ^ 0x9E3779B97F4A7C15} * 0xD6E8FEB86659FD93;
    state_ = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t sum() const { return state_; }

 private:
  uint64_t state_ = 0x2545F4914F6CDD1D;
};

using Words = std::array<uint64_t, kEntryWords>;

uint64_t CheckOf(uint64_t number, const Words& words) {
  Check check(number);
  for (const uint64_t word : words) check.Add(word);
  return check.sum();
}

uint32_t WordsFor(uint32_t units) { return (units + kUnitsPerWord - 1) / kUnitsPerWord; }

// The next units of a name; zero if a corrupted name ends early.
uint64_t NextWord(NameReader& reader, uint32_t units) {
  std::array<uint16_t, kUnitsPerWord> word{};
  for (uint32_t i = 0; i < std::min(units, kUnitsPerWord); ++i) {
    if (!reader.Next(word[i])) break;
  }
  uint64_t result = 0;
  std::memcpy(&result, word.data(), sizeof(result));
  return result;
}

void WriteName(Segment& segment, NameReader& reader, WatchRingEntry& entry) {
  const uint32_t words = WordsFor(entry.name_length);
  entry.text_at = segment.header().watch_ring_words.FetchAdd(words);
  Check check(entry.text_at);
  for (uint32_t i = 0; i < words; ++i) {
    const uint64_t word = NextWord(reader, entry.name_length - i * kUnitsPerWord);
    check.Add(word);
    segment.watch_ring_word(entry.text_at + i).Set(word);
  }
  entry.text_check = check.sum();
}

// Fills in the process, unless its slot has a new owner already.
void NameProcess(Segment& segment, const RequestCell& request, WatchRingEntry& entry) {
  const ProcessRef process = segment.OwnerOf(request);
  entry.process = process.ToWord();
  if (!segment.IsNewest(process)) return;
  entry.process_id = segment.process(process.slot).process_id.Get();
  entry.pid_namespace = segment.process(process.slot).pid_namespace.Get();
}

void NameAgent(Segment& segment, const RequestCell& request, WatchRingEntry& entry) {
  const uint16_t index = request.agent.Get();
  if (index >= segment.geometry().agents) return;
  const AgentEntry& agent = segment.agent(index);
  entry.client_id[0] = agent.client_id[0].Get();
  entry.client_id[1] = agent.client_id[1].Get();
  entry.thread_id = agent.thread_id.Get();
}

}  // namespace

uint64_t WatchRingWriter::TakeNumber() const {
  return shard_.segment().header().last_entry.FetchAdd(1) + 1;
}

void WatchRingWriter::Fill(Host& host, LockEvent event, const RequestCell& request,
                           const NameCell& name) const {
  Segment& segment = shard_.segment();
  WatchRingEntry entry{};
  entry.time_ms = host.RealtimeMs();
  entry.token = request.token.Get();
  entry.type = static_cast<uint8_t>(event);
  const auto position = QueuePosition::FromWord(request.queue_position.Get());
  const bool is_shared = request.mode.Get() == static_cast<uint8_t>(LockMode::kShared);
  entry.request_facts = RequestFacts{is_shared ? LockMode::kShared : LockMode::kExclusive,
                                     position.priority, std::min(position.overtakes, kMaxOvertakes)}
                            .ToByte();
  entry.request = static_cast<uint16_t>(request.request_id.Get());
  NameProcess(segment, request, entry);
  NameAgent(segment, request, entry);
  entry.name_length = std::min(name.length.Get(), segment.geometry().MaxWatchRingUnits());
  NameReader reader(shard_, request.name.Get(), name);
  if (entry.name_length > kEntryUnits) {
    WriteName(segment, reader, entry);
  } else {
    for (uint32_t i = 0; i < entry.name_length; ++i) (void)reader.Next(entry.units[i]);
  }
  Words words;
  std::memcpy(words.data(), &entry, sizeof(entry));
  WatchRingSlot& slot = segment.watch_ring_slot(number_);
  for (uint32_t i = 0; i < kEntryWords; ++i) slot.words[i].Set(words[i]);
  // A death before this store leaves a number without an entry.
  slot.check.Publish(CheckOf(number_, words));
  // A watcher that arms later finds the event; an armed watcher is rung outside of the shard.
  (void)segment.header().watch_armed.LoadRmw();
}

WatchRing::Found WatchRing::Read(uint64_t number, WatchRingEntry& entry,
                                 std::u16string& name) const {
  const WatchRingSlot& slot = segment_.watch_ring_slot(number);
  const uint64_t check = slot.check.Acquire();
  Words words;
  for (uint32_t i = 0; i < kEntryWords; ++i) words[i] = slot.words[i].Get();
  if (CheckOf(number, words) != check) return Found::kNothing;
  std::memcpy(&entry, words.data(), sizeof(entry));
  if (entry.name_length > segment_.geometry().MaxWatchRingUnits()) return Found::kNameless;
  name.resize(entry.name_length);
  if (entry.name_length <= kEntryUnits) {
    std::copy_n(std::begin(entry.units), entry.name_length, name.begin());
    return Found::kEntry;
  }
  Check text_check(entry.text_at);
  for (uint32_t i = 0; i < WordsFor(entry.name_length); ++i) {
    const uint64_t word = segment_.watch_ring_word(entry.text_at + i).Get();
    text_check.Add(word);
    const uint32_t at = i * kUnitsPerWord;
    const uint32_t units = std::min(entry.name_length - at, kUnitsPerWord);
    std::memcpy(name.data() + at, &word, units * sizeof(char16_t));
  }
  return text_check.sum() == entry.text_check ? Found::kEntry : Found::kNameless;
}

[[gnu::cold]] void WatchRegistry::Add(const AgentRef& agent) {
  segment_.agent(agent.index).watching.Exchange(agent.generation);
  for (uint32_t i = 0; i < segment_.geometry().shards; ++i) {
    Shared<uint32_t>& watched = segment_.shard(i).watched;
    uint32_t seen = watched.LoadSeqCst();
    while (!watched.CompareExchange(seen, (seen | 1) + (seen & 1) * 2)) {
    }
    // Changes without the shard lock are not in the ring.
    RevokeBiased(segment_, agent.index, i);
  }
}

[[gnu::cold]] void WatchRegistry::Remove(const AgentRef& agent) {
  uint32_t generation = agent.generation;
  segment_.agent(agent.index).watching.CompareExchange(generation, 0);
  std::vector<std::pair<uint32_t, uint32_t>> watched_shards;
  for (uint32_t i = 0; i < segment_.geometry().shards; ++i) {
    const uint32_t seen = segment_.shard(i).watched.LoadSeqCst();
    if ((seen & 1) != 0) watched_shards.emplace_back(i, seen);
  }
  if (watched_shards.empty() || HasWatchers()) return;
  for (auto [shard, seen] : watched_shards) {
    segment_.shard(shard).watched.CompareExchange(seen, seen + 1);
  }
}

void WatchRegistry::Arm(const AgentRef& agent) {
  const uint32_t own = agent.index + 1U;
  uint32_t seen = segment_.header().watch_armed.Get();
  while (!segment_.header().watch_armed.CompareExchange(
      seen, seen == 0 || seen == own ? own : kAllArmed)) {
  }
}

bool WatchRegistry::IsArmed(const AgentRef& agent) const {
  const uint32_t armed = segment_.header().watch_armed.LoadSeqCst();
  return armed == agent.index + 1U || armed == kAllArmed;
}

uint32_t WatchRegistry::TakeArmed() {
  Shared<uint32_t>& armed = segment_.header().watch_armed;
  return armed.Get() == 0 ? 0 : armed.Exchange(0);
}

bool WatchRegistry::HasWatchers() const {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const AgentEntry& entry = segment_.agent(i);
    const uint32_t watching = entry.watching.LoadSeqCst();
    const bool is_bearer = watching != 0 && watching == entry.generation.LoadSeqCst();
    if (is_bearer && entry.owner.LoadSeqCst() != 0) return true;
  }
  return false;
}

}  // namespace holdfast::segment
