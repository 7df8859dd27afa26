#include "binding/snapshot_to_js.h"

#include <map>
#include <string>
#include <utility>

namespace holdfast::binding {
namespace {

constexpr size_t kUuidLength = 36;
constexpr int kWordDigits = 16;

bool IsDashAt(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

constexpr double kNsPerMs = 1e6;
constexpr int kHalf = 32;

// Makes each string of a client id once.
class ClientIds {
 public:
  Napi::String Get(Napi::Env env, const core::LockInfo& info) {
    Napi::String& text = texts_[{info.client_id[0], info.client_id[1]}];
    if (text.IsEmpty()) text = Napi::String::New(env, ToUuid(info.client_id));
    return text;
  }

 private:
  std::map<std::pair<uint64_t, uint64_t>, Napi::String> texts_;
};

// What a lock is told with beside its name, mode and client id.
struct More {
  size_t fields;
  void (*append)(Napi::Env env, Napi::Array& array, uint32_t& at, const core::LockInfo& info);
};

Napi::Value ToJs(Napi::Env env, const std::u16string& units) {
  napi_value text = nullptr;
  napi_create_string_utf16(env, units.data(), units.size(), &text);
  return {env, text};
}

void AppendDetails(Napi::Env env, Napi::Array& array, uint32_t& at, const core::LockInfo& info) {
  const auto append = [&](double number) { array[at++] = Napi::Number::New(env, number); };
  append(info.process_id);
  append(info.thread_id);
  const auto append_token = [&](uint64_t token) {
    append(static_cast<uint32_t>(token >> kHalf));
    append(static_cast<uint32_t>(token));
  };
  append_token(info.token);
  array[at++] = ToJs(env, info.label);
  append(info.limit);
  append(static_cast<double>(info.hold_limit_ns) / kNsPerMs);
  append(static_cast<double>(info.requested_ms));
  append(static_cast<double>(info.granted_ms));
  append(info.request_id);
  append_token(info.enclosing_token);
  array[at++] = ToJs(env, info.call_site);
}

void AppendNothing(Napi::Env, Napi::Array&, uint32_t&, const core::LockInfo&) {}

Napi::Array ToArray(Napi::Env env, const std::vector<core::LockInfo>& infos, ClientIds& clients,
                    const More& more) {
  Napi::Array array = Napi::Array::New(env, infos.size() * (3 + more.fields));
  uint32_t at = 0;
  for (const core::LockInfo& info : infos) {
    const Napi::String client = clients.Get(env, info);
    const Napi::HandleScope scope(env);
    array[at++] = ToJs(env, info.name);
    array[at++] = Napi::Number::New(env, static_cast<double>(info.mode));
    array[at++] = client;
    more.append(env, array, at, info);
  }
  return array;
}

Napi::Array ToArrays(Napi::Env env, const core::Snapshot& snapshot, const More& more) {
  ClientIds clients;
  Napi::Array result = Napi::Array::New(env, 2);
  result[uint32_t{0}] = ToArray(env, snapshot.held, clients, more);
  result[uint32_t{1}] = ToArray(env, snapshot.pending, clients, more);
  return result;
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

Napi::Array InfosToJs(Napi::Env env, const core::Snapshot& snapshot) {
  return ToArrays(env, snapshot, {0, &AppendNothing});
}

Napi::Array DetailsToJs(Napi::Env env, const core::Snapshot& snapshot) {
  return ToArrays(env, snapshot, {13, &AppendDetails});
}

}  // namespace holdfast::binding
