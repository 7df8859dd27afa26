// A resource name as JavaScript passes it: short ones are copied without an allocation.
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
  // The empty name.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see short_
  NameArgument() : name_(short_.data(), 0) {}
  // One that is longer than `max_units` is not copied.
  NameArgument(napi_env env, napi_value value, uint64_t max_units) : NameArgument() {
    Read(env, value, max_units);
  }
  NameArgument(const NameArgument&) = delete;
  NameArgument& operator=(const NameArgument&) = delete;
  ~NameArgument() = default;

  void Read(napi_env env, napi_value value, uint64_t max_units) {
    size_t length = 0;
    napi_get_value_string_utf16(env, value, short_.data(), kShort, &length);
    fits_ = length < kShort - 1;
    const char16_t* units = short_.data();
    if (!fits_) {
      napi_get_value_string_utf16(env, value, nullptr, 0, &length);
      if (length > max_units) return;
      long_.resize(length);
      napi_get_value_string_utf16(env, value, long_.data(), length + 1, &length);
      units = long_.data();
      fits_ = true;
    }
    name_ = {units, static_cast<uint32_t>(length)};
  }

  bool fits() const { return fits_; }
  const segment::ResourceName& name() const { return name_; }

 private:
  static constexpr size_t kShort = 128;

  // Written before it is read: clearing it would cost as much as the rest of a request.
  std::array<char16_t, kShort> short_;
  std::u16string long_;
  segment::ResourceName name_;
  bool fits_ = true;
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_NAME_ARGUMENT_H_
