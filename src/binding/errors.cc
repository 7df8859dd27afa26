#include "binding/errors.h"

#include <uv.h>

#include "binding/js_values.h"

namespace holdfast::binding {
namespace {

struct ErrorRow {
  const char* code;
  const char* name;
};

// No default case: the compiler requires a row for every new code.
ErrorRow RowOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return {"OK", "Error"};
    case StatusCode::kBusy:
      return {"BUSY", "OperationError"};
    case StatusCode::kSegmentFull:
      return {"SEGMENT_FULL", "QuotaExceededError"};
    case StatusCode::kSegmentBroken:
      return {"SEGMENT_BROKEN", "InvalidStateError"};
    case StatusCode::kNoAccess:
      return {"NO_ACCESS", "SecurityError"};
    case StatusCode::kVersionMismatch:
      return {"VERSION_MISMATCH", "InvalidStateError"};
    case StatusCode::kClosed:
      return {"CLOSED", "InvalidStateError"};
    case StatusCode::kDisconnected:
      return {"DISCONNECTED", "InvalidStateError"};
    case StatusCode::kNoSpace:
      return {"NO_SPACE", "QuotaExceededError"};
    case StatusCode::kTooManyAgents:
      return {"TOO_MANY_AGENTS", "QuotaExceededError"};
    case StatusCode::kTooManyFiles:
      return {"TOO_MANY_FILES", "QuotaExceededError"};
    case StatusCode::kInvalidArgument:
      return {"INVALID_ARGUMENT", "TypeError"};
    case StatusCode::kOsError:
      return {"OS_ERROR", "OperationError"};
  }
  return {"UNKNOWN", "OperationError"};
}

}  // namespace

const char* ErrorName(StatusCode code) { return RowOf(code).name; }

const char* CodeName(StatusCode code) { return RowOf(code).code; }

std::string ErrorMessage(const Status& status) {
  std::string message = status.reason();
  if (status.os_error() != 0) {
    message += " (";
    message += uv_strerror(uv_translate_sys_error(status.os_error()));
    message += ")";
  }
  return message;
}

napi_value ToJs(napi_env env, const Status& status) {
  JsObject error(env);
  error.Set("name", ErrorName(status.code()));
  error.Set("message", ErrorMessage(status));
  error.Set("code", CodeName(status.code()));
  return error.result();
}

napi_value Throw(napi_env env, const Status& status) {
  const napi_value error = ToJs(env, status);
  if (error != nullptr) (void)napi_throw(env, error);
  return nullptr;
}

}  // namespace holdfast::binding
