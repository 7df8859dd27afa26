#include "segment/resource_name.h"

#include <bit>
#include <cstring>

#include "segment/segment.h"

namespace holdfast::segment {
namespace {

// The first unit in the lowest bits, on any machine.
uint64_t WordAt(const char16_t* units) {
  uint64_t word = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&word, units, sizeof(word));
  return word;
}

}  // namespace

void ResourceName::Hash(const Segment& segment) const {
  NameHasher hasher(segment.name_key());
  uint32_t i = 0;
  for (; i + kUnitsPerWord <= length_; i += kUnitsPerWord) hasher.AddWord(WordAt(units_ + i));
  for (; i < length_; ++i) hasher.Add(static_cast<uint16_t>(units_[i]));
  hash_ = hasher.Finish(length_);
  is_hashed_ = true;
}

uint32_t ResourceName::ShardIn(const Segment& segment) const {
  return ShardOfHash(HashIn(segment), segment.geometry().shards);
}

}  // namespace holdfast::segment
