#include "binding/js_callback.h"

#include <utility>

namespace holdfast::binding {

bool JsReference::Refer(napi_env env, napi_value value, uint32_t count) {
  env_ = env;
  if (napi_create_reference(env, value, count, &reference_) == napi_ok) return true;
  reference_ = nullptr;
  return false;
}

void JsReference::Reset() {
  if (reference_ != nullptr) (void)napi_delete_reference(env_, std::exchange(reference_, nullptr));
}

napi_value JsReference::Get() const {
  napi_value value = nullptr;
  if (reference_ == nullptr) return nullptr;
  return napi_get_reference_value(env_, reference_, &value) == napi_ok ? value : nullptr;
}

CallbackOutcome CallBack(napi_env env, napi_value receiver, const JsReference& function,
                         napi_value argument) {
  const napi_value callee = function.Get();
  if (callee == nullptr || receiver == nullptr) return {};
  napi_value result = nullptr;
  const napi_status status = napi_make_callback(env, nullptr, receiver, callee,
                                                argument == nullptr ? 0 : 1, &argument, &result);
  if (status == napi_ok) return {true, result};
  if (status != napi_pending_exception) return {};
  napi_value error = nullptr;
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok) return {};
  const napi_status reported = napi_fatal_exception(env, error);
  // Fails if JavaScript was terminated during the call: then nothing was thrown.
  return {reported == napi_ok, nullptr};
}

}  // namespace holdfast::binding
