// A resource name as JavaScript passes it: short ones are copied to the stack, at no further cost.
#ifndef HOLDFAST_BINDING_NAME_ARGUMENT_H_
#define HOLDFAST_BINDING_NAME_ARGUMENT_H_

#include <node_api.h>

#include <array>
#include <cstdint>
#include <string>

#include "segment/resource_name.h"

namespace holdfast::binding {

class NameArgument {
 public:
  // One that is longer than `most_units` is not copied.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see short_
  NameArgument(napi_env env, napi_value value, uint64_t most_units) {
    napi_get_value_string_utf16(env, value, short_.data(), kShort, &length_);
    if (length_ < kShort - 1) return;
    units_ = nullptr;
    napi_get_value_string_utf16(env, value, nullptr, 0, &length_);
    if (length_ > most_units) return;
    long_.resize(length_);
    napi_get_value_string_utf16(env, value, long_.data(), length_ + 1, &length_);
    units_ = long_.data();
  }
  NameArgument(const NameArgument&) = delete;
  NameArgument& operator=(const NameArgument&) = delete;
  ~NameArgument() = default;

  bool fits() const { return units_ != nullptr; }
  segment::ResourceName name() const { return {units_, static_cast<uint32_t>(length_)}; }

 private:
  static constexpr size_t kShort = 128;

  // Written before it is read: clearing it would cost as much as the rest of a request.
  std::array<char16_t, kShort> short_;
  std::u16string long_;
  const char16_t* units_ = short_.data();
  size_t length_ = 0;
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_NAME_ARGUMENT_H_
