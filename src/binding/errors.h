// How a Status becomes an error for JavaScript: the one table of names.
#ifndef HOLDFAST_BINDING_ERRORS_H_
#define HOLDFAST_BINDING_ERRORS_H_

#include <napi.h>

#include <string>

#include "platform/status.h"

namespace holdfast::binding {

// The name of the DOMException that a code stands for.
const char* ErrorName(StatusCode code);
// What a code is called in C++, for tables and tests.
const char* CodeName(StatusCode code);
std::string ErrorMessage(const Status& status);

// { name, message, code }: lib makes a DOMException of it, when and where it is needed.
Napi::Object ToJs(Napi::Env env, const Status& status);

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_ERRORS_H_
