// The functions of an agent with which JavaScript watches, and events as it reads them.

#include <napi.h>

#include <optional>
#include <string>
#include <vector>

#include "binding/agent_wrap.h"
#include "binding/name_argument.h"
#include "binding/snapshot_to_js.h"

namespace holdfast::binding {
namespace {

AgentWrap* SelfOf(napi_env env, napi_callback_info info, size_t* count, napi_value* arguments) {
  void* self = nullptr;
  napi_get_cb_info(env, info, count, arguments, nullptr, &self);
  return static_cast<AgentWrap*>(self);
}

uint32_t ToUint32(napi_env env, napi_value value) {
  uint32_t number = 0;
  napi_get_value_uint32(env, value, &number);
  return number;
}

Status Closed() { return Status(StatusCode::kClosed, "the lock manager is closed"); }

// Eleven values per event, of which lib makes objects.
void Append(Napi::Env env, Napi::Array& array, uint32_t& at, const core::WatchedEvent& event,
            uint64_t own_namespace) {
  const Napi::HandleScope scope(env);
  const segment::WatchRingEntry& entry = event.entry;
  // As they are: an assignment would copy a string through UTF-8, which has no lone surrogates.
  const auto append_value = [&](napi_value value) { array.Set(at++, value); };
  const auto append = [&](double number) { append_value(Napi::Number::New(env, number)); };
  const bool is_near = entry.pid_namespace == own_namespace;
  append_value(Napi::String::New(env, event.name));
  append(entry.type);
  append(entry.mode);
  append_value(Napi::String::New(env, ToUuid(entry.client_id)));
  append(is_near ? entry.process_id : 0);
  append(entry.thread_id);
  append(static_cast<uint32_t>(entry.token >> 32));
  append(static_cast<uint32_t>(entry.token));
  append(static_cast<double>(entry.time_ms));
  append(static_cast<double>(event.lost));
  append(entry.request);
}

}  // namespace

// openWatch(name or undefined) -> id; -1: failed
napi_value AgentWrap::OpenWatch(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = nullptr;
  AgentWrap* const self = SelfOf(env, info, &count, &argument);
  if (self->agent_ == nullptr) return Napi::Number::New(env, self->Fail(Closed()));
  std::optional<std::u16string> name;
  if (!Napi::Value(env, argument).IsUndefined()) {
    name = Napi::String(env, argument).Utf16Value();
  }
  const Result<uint32_t> id = self->agent_->OpenWatch(std::move(name));
  return Napi::Number::New(env, id.ok() ? static_cast<int32_t>(*id) : self->Fail(id.status()));
}

// readWatch(id, most) -> WATCH_EVENT_FIELDS values per event; undefined: failed
napi_value AgentWrap::ReadWatch(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  AgentWrap* const self = SelfOf(env, info, &count, arguments);
  std::vector<core::WatchedEvent> events;
  const uint32_t id = ToUint32(env, arguments[0]);
  const Status read = self->agent_ == nullptr
                          ? Closed()
                          : self->agent_->ReadWatch(id, ToUint32(env, arguments[1]), events);
  if (!read.ok()) {
    self->Fail(read);
    return Napi::Env(env).Undefined();
  }
  const segment::ProcessRef own = self->agent_->ref().process;
  const uint64_t own_namespace = self->agent_->segment().process(own.slot).pid_namespace.Get();
  Napi::Array array = Napi::Array::New(env, events.size() * kWatchEventFields);
  uint32_t at = 0;
  for (const core::WatchedEvent& event : events) Append(env, array, at, event, own_namespace);
  return array;
}

// closeWatch(id)
napi_value AgentWrap::CloseWatch(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = nullptr;
  AgentWrap* const self = SelfOf(env, info, &count, &argument);
  if (self->agent_ != nullptr) self->agent_->CloseWatch(ToUint32(env, argument));
  return Napi::Env(env).Undefined();
}

}  // namespace holdfast::binding
