// The resource name of a request: any number of any UTF-16 code units (the standard's DOMString).
// Does not own the units.
//
// A table finds names by their hash: SipHash-1-3 (Aumasson, Bernstein 2012) with the key of the
// table. So no choice of names makes them meet in one shard or one hash bucket.
#ifndef HOLDFAST_SEGMENT_RESOURCE_NAME_H_
#define HOLDFAST_SEGMENT_RESOURCE_NAME_H_

#include <bit>
#include <cstdint>
#include <utility>

namespace holdfast::segment {

struct NameKey {
  uint64_t words[2] = {};
};

// Uses bits of the hash that the hash buckets of a shard do not use.
inline uint32_t ShardOfHash(uint64_t hash, uint32_t shards) {
  return static_cast<uint32_t>(hash >> 40) % shards;
}

class Segment;

class ResourceName {
 public:
  ResourceName(const char16_t* units, uint32_t length) : units_(units), length_(length) {}

  const char16_t* units() const { return units_; }
  uint32_t length() const { return length_; }
  // Computed once. REQUIRES: all calls are for the same table, and on one thread.
  uint64_t HashIn(const Segment& segment) const {
    if (!is_hashed_) Hash(segment);
    return hash_;
  }
  uint32_t ShardIn(const Segment& segment) const;

 private:
  void Hash(const Segment& segment) const;

  const char16_t* units_;
  uint32_t length_;
  mutable bool is_hashed_ = false;
  mutable uint64_t hash_ = 0;
};

// Four units at a time go into the hash.
inline constexpr uint32_t kUnitsPerWord = 4;

// Computes the hash of a name in parts: names in the segment consist of pieces.
class NameHasher {
 public:
  explicit NameHasher(const NameKey& key)
      : v0_(key.words[0] ^ 0x736f6d6570736575),
        v1_(key.words[1] ^ 0x646f72616e646f6d),
        v2_(key.words[0] ^ 0x6c7967656e657261),
        v3_(key.words[1] ^ 0x7465646279746573) {}

  void Add(uint16_t unit) {
    word_ |= uint64_t{unit} << (kUnitBits * count_);
    if (++count_ < kUnitsPerWord) return;
    AddWord(std::exchange(word_, 0));
    count_ = 0;
  }
  // Adds four units, the first in the lowest bits. REQUIRES: only words were added before.
  void AddWord(uint64_t word) {
    v3_ ^= word;
    Round();
    v0_ ^= word;
  }
  // The units that are no whole word share the last word with the length. Once.
  uint64_t Finish(uint32_t length) {
    AddWord(word_ | uint64_t{length} << (kUnitBits * (kUnitsPerWord - 1)));
    v2_ ^= 0xff;
    Round();
    Round();
    Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static constexpr uint32_t kUnitBits = 16;

  void Round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_;
  uint64_t v1_;
  uint64_t v2_;
  uint64_t v3_;
  uint64_t word_ = 0;  // units that are not in the state yet
  uint32_t count_ = 0;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_RESOURCE_NAME_H_
