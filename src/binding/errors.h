// Turns a Status into an error for JavaScript. The only table of names.
#ifndef HOLDFAST_BINDING_ERRORS_H_
#define HOLDFAST_BINDING_ERRORS_H_

#include <node_api.h>

#include <string>

#include "platform/status.h"

namespace holdfast::binding {

// The name of the DOMException for a code.
const char* ErrorName(StatusCode code);
// The name of a code in C++, for tables and tests.
const char* CodeName(StatusCode code);
std::string ErrorMessage(const Status& status);

// { name, message, code }: lib creates the DOMException where it is needed. Null: the object could
// not be created.
napi_value ToJs(napi_env env, const Status& status);
// Throws it in JavaScript, if JavaScript can run. Returns null, for the function that was called.
napi_value Throw(napi_env env, const Status& status);

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_ERRORS_H_
