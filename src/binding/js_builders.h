// Builders of objects and arrays for JavaScript. After the first failed call of Node-API, further
// additions are dropped and result() is null.
#ifndef HOLDFAST_BINDING_JS_BUILDERS_H_
#define HOLDFAST_BINDING_JS_BUILDERS_H_

#include <node_api.h>

#include <cstdint>

#include "binding/js_values.h"

namespace holdfast::binding {

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

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_JS_BUILDERS_H_
