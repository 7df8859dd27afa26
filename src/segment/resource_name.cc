#include "segment/resource_name.h"

#include <bit>
#include <cstring>

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

ResourceName::ResourceName(const char16_t* units, uint32_t length)
    : units_(units), length_(length), hash_(0) {
  NameHasher hasher;
  uint32_t i = 0;
  for (; i + kUnitsPerWord <= length; i += kUnitsPerWord) hasher.AddWord(WordAt(units + i));
  for (; i < length; ++i) hasher.Add(static_cast<uint16_t>(units[i]));
  hash_ = hasher.Finish(length);
}

}  // namespace holdfast::segment
