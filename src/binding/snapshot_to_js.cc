#include "binding/snapshot_to_js.h"

#include <map>
#include <string>
#include <utility>

namespace holdfast::binding {
namespace {

constexpr size_t kUuidLength = 36;
constexpr int kWordDigits = 16;

bool IsDashAt(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

using ClientIds = std::map<std::pair<uint64_t, uint64_t>, Napi::String>;

Napi::Array ToArray(Napi::Env env, const std::vector<core::LockInfo>& infos, ClientIds& clients) {
  Napi::Array array = Napi::Array::New(env, infos.size() * 3);
  uint32_t at = 0;
  for (const core::LockInfo& info : infos) {
    const Napi::HandleScope scope(env);
    const auto key = std::pair(info.client_id[0], info.client_id[1]);
    auto client = clients.find(key);
    if (client == clients.end()) return array;
    napi_value name = nullptr;
    napi_create_string_utf16(env, info.name.data(), info.name.size(), &name);
    array[at++] = name;
    array[at++] = Napi::Number::New(env, static_cast<double>(info.mode));
    array[at++] = client->second;
  }
  return array;
}

void AddClients(Napi::Env env, const std::vector<core::LockInfo>& infos, ClientIds& clients) {
  for (const core::LockInfo& info : infos) {
    const auto key = std::pair(info.client_id[0], info.client_id[1]);
    if (!clients.contains(key)) clients[key] = Napi::String::New(env, ToUuid(info.client_id));
  }
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

Napi::Array ToJs(Napi::Env env, const core::Snapshot& snapshot) {
  ClientIds clients;
  AddClients(env, snapshot.held, clients);
  AddClients(env, snapshot.pending, clients);
  Napi::Array result = Napi::Array::New(env, 2);
  result[uint32_t{0}] = ToArray(env, snapshot.held, clients);
  result[uint32_t{1}] = ToArray(env, snapshot.pending, clients);
  return result;
}

}  // namespace holdfast::binding
