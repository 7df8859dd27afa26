// References from C++ to JavaScript values, and calls from the event loop into JavaScript.
#ifndef HOLDFAST_BINDING_JS_CALLBACK_H_
#define HOLDFAST_BINDING_JS_CALLBACK_H_

#include <node_api.h>

#include <cstdint>

namespace holdfast::binding {

// A strong or weak reference to an object or a function. REQUIRES: Reset() before the environment
// is gone.
class JsReference {
 public:
  JsReference() = default;
  JsReference(const JsReference&) = delete;
  JsReference& operator=(const JsReference&) = delete;
  ~JsReference() { Reset(); }

  // REQUIRES: it is empty. False: it stays empty.
  [[nodiscard]] bool Keep(napi_env env, napi_value value) { return Refer(env, value, 1); }
  // The same, but the value may be collected; Get() answers null then.
  [[nodiscard]] bool Know(napi_env env, napi_value value) { return Refer(env, value, 0); }
  // REQUIRES: of a known value. While it is held it cannot be collected; the calls alternate.
  void Hold() { (void)napi_reference_ref(env_, reference_, nullptr); }
  void LetGo() { (void)napi_reference_unref(env_, reference_, nullptr); }
  void Reset();
  // Null: it is empty, or JavaScript cannot run any more.
  napi_value Get() const;

 private:
  bool Refer(napi_env env, napi_value value, uint32_t count);

  napi_env env_ = nullptr;
  napi_ref reference_ = nullptr;
};

struct CallbackOutcome {
  bool can_run = false;         // false: JavaScript cannot run any more
  napi_value result = nullptr;  // null: it threw, which is an uncaught exception now
};

// Calls a function from the event loop, outside of JavaScript; ticks and microtasks have run when
// this returns. A null `receiver` could not be created: nothing is called. A null `argument` means
// no argument. REQUIRES: an open JsScope.
CallbackOutcome CallBack(napi_env env, napi_value receiver, const JsReference& function,
                         napi_value argument = nullptr);

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_JS_CALLBACK_H_
