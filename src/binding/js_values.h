// Conversions between JavaScript and C++, each by a checked call of Node-API.
//
// While an environment ends, any call may fail (worker.terminate() comes at any time). The classes
// of node-addon-api then abort the process, so this folder does not use them. Here a failure is
// false or null, and the called function returns nothing to JavaScript.
#ifndef HOLDFAST_BINDING_JS_VALUES_H_
#define HOLDFAST_BINDING_JS_VALUES_H_

#include <node_api.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "segment/resource_name.h"

namespace holdfast::binding {

// The return value of a function called by JavaScript after a call of Node-API failed. Throws a
// TypeError, unless an exception is pending or JavaScript cannot run any more.
napi_value Quit(napi_env env);

// The arguments of a call from JavaScript to a function of `Self`; missing ones are undefined.
template <typename Self, size_t kCount>
class Call {
 public:
  Call(napi_env env, napi_callback_info info) {
    size_t count = kCount;
    void* self = nullptr;
    if (napi_get_cb_info(env, info, &count, values_.data(), nullptr, &self) != napi_ok) return;
    self_ = static_cast<Self*>(self);
  }

  // Null: the arguments could not be read.
  Self* self() const { return self_; }
  napi_value operator[](size_t index) const { return values_[index]; }

 private:
  // Written by Node-API before it is read.
  std::array<napi_value, kCount> values_;
  Self* self_ = nullptr;
};

// These return false when the value is of another type or JavaScript cannot run any more; the
// result is then unchanged.
[[nodiscard]] inline bool Read(napi_env env, napi_value value, bool& result) {
  return napi_get_value_bool(env, value, &result) == napi_ok;
}
[[nodiscard]] inline bool Read(napi_env env, napi_value value, uint32_t& result) {
  return napi_get_value_uint32(env, value, &result) == napi_ok;
}
[[nodiscard]] inline bool Read(napi_env env, napi_value value, int64_t& result) {
  return napi_get_value_int64(env, value, &result) == napi_ok;
}
[[nodiscard]] inline bool Read(napi_env env, napi_value value, double& result) {
  return napi_get_value_double(env, value, &result) == napi_ok;
}
[[nodiscard]] bool Read(napi_env env, napi_value value, std::string& result);
[[nodiscard]] bool Read(napi_env env, napi_value value, std::u16string& result);

// The numbers of a typed array, which live as long as the array does.
[[nodiscard]] bool Read(napi_env env, napi_value value, std::span<uint32_t>& result);
[[nodiscard]] bool Read(napi_env env, napi_value value, std::span<double>& result);

// Reads a property of an object, which may run JavaScript.
template <typename T>
[[nodiscard]] bool ReadProperty(napi_env env, napi_value object, const char* name, T& result) {
  napi_value value = nullptr;
  return napi_get_named_property(env, object, name, &value) == napi_ok && Read(env, value, result);
}

// These return null when the value cannot be made.
inline napi_value ToJs(napi_env env, bool value) {
  napi_value result = nullptr;
  return napi_get_boolean(env, value, &result) == napi_ok ? result : nullptr;
}
inline napi_value ToJs(napi_env env, int32_t value) {
  napi_value result = nullptr;
  return napi_create_int32(env, value, &result) == napi_ok ? result : nullptr;
}
inline napi_value ToJs(napi_env env, uint32_t value) {
  napi_value result = nullptr;
  return napi_create_uint32(env, value, &result) == napi_ok ? result : nullptr;
}
inline napi_value ToJs(napi_env env, double value) {
  napi_value result = nullptr;
  return napi_create_double(env, value, &result) == napi_ok ? result : nullptr;
}
inline napi_value ToJsNull(napi_env env) {
  napi_value result = nullptr;
  return napi_get_null(env, &result) == napi_ok ? result : nullptr;
}
napi_value ToJs(napi_env env, std::string_view ascii);
napi_value ToJs(napi_env env, std::u16string_view units);
inline napi_value ToJs(napi_env env, const char* ascii) {
  return ToJs(env, std::string_view(ascii));
}
napi_value ToJsFunction(napi_env env, const char* name, napi_callback callback, void* self);

// Detaches an ArrayBuffer, unless JavaScript cannot run any more: then no code reads the buffer.
void DetachBuffer(napi_env env, napi_value buffer);

// Handles created during its lifetime are released at its end.
class JsScope {
 public:
  explicit JsScope(napi_env env) : env_(env) {
    if (napi_open_handle_scope(env, &scope_) != napi_ok) scope_ = nullptr;
  }
  JsScope(const JsScope&) = delete;
  JsScope& operator=(const JsScope&) = delete;
  ~JsScope() {
    if (scope_ != nullptr) (void)napi_close_handle_scope(env_, scope_);
  }

  // False: no handle may be created.
  bool is_open() const { return scope_ != nullptr; }

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

// Builders of objects and arrays for JavaScript. After the first failed call of Node-API, further
// additions are dropped and result() is null.
class JsArray {
 public:
  JsArray(napi_env env, size_t length) : env_(env) {
    if (napi_create_array_with_length(env, length, &array_) != napi_ok) array_ = nullptr;
  }

  // Null is a value that could not be made.
  void Append(napi_value value) {
    if (array_ == nullptr) return;
    if (value == nullptr || napi_set_element(env_, array_, length_++, value) != napi_ok) {
      array_ = nullptr;
    }
  }
  template <typename T>
  void Append(const T& value) {
    if (array_ != nullptr) Append(ToJs(env_, value));
  }

  bool ok() const { return array_ != nullptr; }
  napi_value result() const { return array_; }

 private:
  napi_env env_;
  napi_value array_ = nullptr;
  uint32_t length_ = 0;
};

class JsObject {
 public:
  explicit JsObject(napi_env env) : env_(env) {
    if (napi_create_object(env, &object_) != napi_ok) object_ = nullptr;
  }
  // Adds to an existing object.
  JsObject(napi_env env, napi_value object) : env_(env), object_(object) {}

  // Null is a value that could not be made.
  void Set(const char* name, napi_value value) {
    if (object_ == nullptr) return;
    if (value == nullptr || napi_set_named_property(env_, object_, name, value) != napi_ok) {
      object_ = nullptr;
    }
  }
  template <typename T>
  void Set(const char* name, const T& value) {
    if (object_ != nullptr) Set(name, ToJs(env_, value));
  }

  napi_value result() const { return object_; }

 private:
  napi_env env_;
  napi_value object_ = nullptr;
};

// A resource name argument; short names are copied without an allocation.
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

#endif  // HOLDFAST_BINDING_JS_VALUES_H_
