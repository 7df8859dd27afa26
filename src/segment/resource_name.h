// The resource name of a request: any number of any UTF-16 code units (the standard's DOMString),
// and their hash. Does not own the units.
#ifndef HOLDFAST_SEGMENT_RESOURCE_NAME_H_
#define HOLDFAST_SEGMENT_RESOURCE_NAME_H_

#include <cstdint>
#include <utility>

namespace holdfast::segment {

// Uses bits of the hash that the hash buckets of a shard do not use.
inline uint32_t ShardOfHash(uint64_t hash, uint32_t shards) {
  return static_cast<uint32_t>(hash >> 40) % shards;
}

class ResourceName {
 public:
  ResourceName(const char16_t* units, uint32_t length);

  const char16_t* units() const { return units_; }
  uint32_t length() const { return length_; }
  uint64_t hash() const { return hash_; }
  uint32_t ShardOf(uint32_t shards) const { return ShardOfHash(hash_, shards); }

 private:
  const char16_t* units_;
  uint32_t length_;
  uint64_t hash_;
};

// Four units at a time go into the hash.
inline constexpr uint32_t kUnitsPerWord = 4;

// Computes the hash of a name in parts: names in the segment consist of pieces.
class NameHasher {
 public:
  void Add(uint16_t unit) {
    word_ |= uint64_t{unit} << (kUnitBits * count_);
    if (++count_ < kUnitsPerWord) return;
    AddWord(std::exchange(word_, 0));
    count_ = 0;
  }
  // Adds four units, the first in the lowest bits. REQUIRES: only words were added before.
  void AddWord(uint64_t word) { state_ = Mix(state_ ^ word); }
  uint64_t Finish(uint32_t length) const {
    const uint64_t state = count_ == 0 ? state_ : Mix(state_ ^ word_);
    return Mix(Mix(state ^ length));
  }

 private:
  static constexpr uint32_t kUnitBits = 16;

  // Multiplies to 128 bits and folds: every input bit reaches every output bit in two rounds.
  static uint64_t Mix(uint64_t value) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{value ^ 0x9E3779B97F4A7C15} * 0xD6E8FEB86659FD93;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t state_ = 0x2545F4914F6CDD1D;
  uint64_t word_ = 0;  // units that are not in the state yet
  uint32_t count_ = 0;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_RESOURCE_NAME_H_
