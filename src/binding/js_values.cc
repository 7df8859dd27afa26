#include "binding/js_values.h"

namespace holdfast::binding {
namespace {

template <typename T>
bool ReadNumbers(napi_env env, napi_value value, napi_typedarray_type type, std::span<T>& result) {
  napi_typedarray_type found{};
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &found, &length, &data, nullptr, nullptr) != napi_ok) {
    return false;
  }
  if (found != type) return false;
  result = {static_cast<T*>(data), length};
  return true;
}

}  // namespace

[[gnu::cold]] napi_value Quit(napi_env env) {
  bool is_pending = false;
  if (napi_is_exception_pending(env, &is_pending) != napi_ok || is_pending) return nullptr;
  (void)napi_throw_type_error(env, "ERR_HOLDFAST_ARGUMENT",
                              "the native part was called with an argument of another type");
  return nullptr;
}

bool Read(napi_env env, napi_value value, std::string& result) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return false;
  std::string text(length, '\0');
  // Node-API writes a zero behind the text, where std::string has one.
  if (napi_get_value_string_utf8(env, value, text.data(), length + 1, &length) != napi_ok) {
    return false;
  }
  result = std::move(text);
  return true;
}

bool Read(napi_env env, napi_value value, std::u16string& result) {
  size_t length = 0;
  if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) return false;
  std::u16string text(length, u'\0');
  if (napi_get_value_string_utf16(env, value, text.data(), length + 1, &length) != napi_ok) {
    return false;
  }
  result = std::move(text);
  return true;
}

bool Read(napi_env env, napi_value value, std::span<uint32_t>& result) {
  return ReadNumbers(env, value, napi_uint32_array, result);
}

bool Read(napi_env env, napi_value value, std::span<double>& result) {
  return ReadNumbers(env, value, napi_float64_array, result);
}

napi_value ToJs(napi_env env, std::string_view ascii) {
  napi_value result = nullptr;
  const napi_status status = napi_create_string_latin1(env, ascii.data(), ascii.size(), &result);
  return status == napi_ok ? result : nullptr;
}

napi_value ToJs(napi_env env, std::u16string_view units) {
  napi_value result = nullptr;
  const napi_status status = napi_create_string_utf16(env, units.data(), units.size(), &result);
  return status == napi_ok ? result : nullptr;
}

[[gnu::cold]] napi_value ToJsFunction(napi_env env, const char* name, napi_callback callback,
                                      void* self) {
  napi_value result = nullptr;
  const napi_status status =
      napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, self, &result);
  return status == napi_ok ? result : nullptr;
}

// napi_detach_arraybuffer ends the process if V8 refuses to detach. V8 refuses from the moment it
// has terminated JavaScript below a native call until the loop stops. So a call to V8 comes first
// whose refusal Node-API reports, and that runs no code of the program. Node-API also refuses if an
// exception is pending; no caller continues with a pending exception here.
[[gnu::cold]] void DetachBuffer(napi_env env, napi_value buffer) {
  napi_value key = nullptr;
  bool has = false;
  if (napi_create_string_latin1(env, "", 0, &key) != napi_ok) return;
  if (napi_has_own_property(env, buffer, key, &has) != napi_ok) return;
  (void)napi_detach_arraybuffer(env, buffer);
}

}  // namespace holdfast::binding
