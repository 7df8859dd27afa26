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

// Detaches an ArrayBuffer, unless JavaScript cannot run any more: then nobody reads the buffer.
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

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_JS_VALUES_H_
