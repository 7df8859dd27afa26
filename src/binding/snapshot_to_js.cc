#include "binding/snapshot_to_js.h"

#include <map>
#include <string>
#include <utility>

#include "binding/js_values.h"
#include "platform/clock.h"

namespace holdfast::binding {
namespace {

constexpr size_t kUuidLength = 36;
constexpr int kWordDigits = 16;

bool IsDashAt(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

constexpr int kHalf = 32;

// Creates the string of each client id once.
class ClientIds {
 public:
  napi_value Get(napi_env env, const core::LockInfo& info) {
    napi_value& text = texts_[{info.client_id[0], info.client_id[1]}];
    if (text == nullptr) text = ToJs(env, ToUuid(info.client_id));
    return text;
  }

 private:
  std::map<std::pair<uint64_t, uint64_t>, napi_value> texts_;
};

// The details of a lock beside its name, mode and client id.
struct More {
  size_t fields;
  void (*append)(JsArray& array, const core::LockInfo& info);
};

void AppendToken(JsArray& array, uint64_t token) {
  array.Append(static_cast<uint32_t>(token >> kHalf));
  array.Append(static_cast<uint32_t>(token));
}

void AppendDetails(JsArray& array, const core::LockInfo& info) {
  array.Append(info.process_id);
  array.Append(info.thread_id);
  AppendToken(array, info.token);
  array.Append(info.label);
  array.Append(info.limit);
  array.Append(static_cast<double>(info.hold_limit_ns) / static_cast<double>(kNsPerMs));
  array.Append(static_cast<double>(info.requested_ms));
  array.Append(static_cast<double>(info.granted_ms));
  array.Append(info.request_id);
  AppendToken(array, info.enclosing_token);
  array.Append(info.call_site);
  array.Append(static_cast<uint32_t>(info.position.priority));
  array.Append(info.position.overtakes);
}

void AppendNothing(JsArray&, const core::LockInfo&) {}

napi_value ToArray(napi_env env, const std::vector<core::LockInfo>& infos, ClientIds& clients,
                   const More& more) {
  JsArray array(env, infos.size() * (3 + more.fields));
  for (const core::LockInfo& info : infos) {
    const napi_value client = clients.Get(env, info);
    const JsScope scope(env);
    if (!scope.is_open() || !array.ok()) return nullptr;
    array.Append(info.name);
    array.Append(static_cast<uint32_t>(info.mode));
    array.Append(client);
    more.append(array, info);
  }
  return array.result();
}

napi_value ToArrays(napi_env env, const core::Snapshot& snapshot, const More& more) {
  ClientIds clients;
  JsArray result(env, 2);
  result.Append(ToArray(env, snapshot.held, clients, more));
  result.Append(ToArray(env, snapshot.pending, clients, more));
  return result.result();
}

}  // namespace

std::string ToUuid(const uint64_t (&client_id)[2]) {
  std::string text;
  for (const uint64_t word : client_id) {
    for (int digit = kWordDigits - 1; digit >= 0; --digit) {
      if (IsDashAt(text.size())) text += '-';
      text += "0123456789abcdef"[(word >> (digit * 4)) & 0xF];
    }
  }
  return text;
}

bool FromUuid(const std::string& text, uint64_t (&client_id)[2]) {
  if (text.size() != kUuidLength) return false;
  int digits = 0;
  for (size_t i = 0; i < kUuidLength; ++i) {
    if (IsDashAt(i)) continue;
    const size_t value = std::string("0123456789abcdef").find(text[i]);
    if (value == std::string::npos) return false;
    uint64_t& word = client_id[digits++ / kWordDigits];
    word = word << 4 | value;
  }
  return true;
}

napi_value InfosToJs(napi_env env, const core::Snapshot& snapshot) {
  return ToArrays(env, snapshot, {0, &AppendNothing});
}

napi_value DetailsToJs(napi_env env, const core::Snapshot& snapshot) {
  return ToArrays(env, snapshot, {15, &AppendDetails});
}

}  // namespace holdfast::binding
