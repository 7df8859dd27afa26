// A resource name argument; short names are copied without an allocation.
#ifndef HOLDFAST_BINDING_NAME_ARGUMENT_H_
#define HOLDFAST_BINDING_NAME_ARGUMENT_H_

#include <node_api.h>

#include <array>
#include <cstdint>
#include <string>

#include "binding/js_values.h"
#include "segment/resource_name.h"

namespace holdfast::binding {

class NameArgument {
 public:
  // The empty name.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see short_
  NameArgument() : name_(short_.data(), 0) {}
  NameArgument(const NameArgument&) = delete;
  NameArgument& operator=(const NameArgument&) = delete;
  ~NameArgument() = default;

  // A name of more than `max_units` is not copied and does not fit. False: not a string, or
  // JavaScript cannot run any more.
  [[nodiscard]] bool Read(napi_env env, napi_value value, uint64_t max_units) {
    size_t length = 0;
    if (napi_get_value_string_utf16(env, value, short_.data(), kShort, &length) != napi_ok) {
      return false;
    }
    const char16_t* units = short_.data();
    fits_ = true;
    if (length >= kShort - 1) {  // it may have been cut
      if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) return false;
      fits_ = length <= max_units;
      if (!fits_) return true;
      if (!holdfast::binding::Read(env, value, long_)) return false;
      units = long_.data();
    }
    name_ = {units, static_cast<uint32_t>(length)};
    return true;
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
