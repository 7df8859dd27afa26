#include "segment/resource_name.h"

namespace holdfast::segment {

ResourceName::ResourceName(const char16_t* units, uint32_t length)
    : units_(units), length_(length), hash_(0) {
  NameHasher hasher;
  for (uint32_t i = 0; i < length; ++i) hasher.Add(static_cast<uint16_t>(units[i]));
  hash_ = hasher.Finish(length);
}

}  // namespace holdfast::segment
