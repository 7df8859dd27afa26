// Converts a snapshot for JavaScript: [held, pending], each a flat array of values. lib turns them
// into objects, which is several times cheaper there.
#ifndef HOLDFAST_BINDING_SNAPSHOT_TO_JS_H_
#define HOLDFAST_BINDING_SNAPSHOT_TO_JS_H_

#include <node_api.h>

#include <string>

#include "core/snapshot.h"

namespace holdfast::binding {

// These return null when JavaScript cannot run any more.
//
// name, mode, client id
napi_value InfosToJs(napi_env env, const core::Snapshot& snapshot);
// name, mode, client id, process id, thread id, token (high, low half; 0: pending), label, limit,
// hold limit (ms), times of the request and of the grant (ms since 1970), request id, token of the
// enclosing lock (high, low half; 0: none), call site, priority (0: background, to 2), overtakes
napi_value DetailsToJs(napi_env env, const core::Snapshot& snapshot);

// A UUID in its usual form.
std::string ToUuid(const uint64_t (&client_id)[2]);
// False when the text is no UUID.
bool FromUuid(const std::string& text, uint64_t (&client_id)[2]);

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_SNAPSHOT_TO_JS_H_
