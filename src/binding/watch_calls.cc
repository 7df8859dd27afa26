// The functions of an agent for watch(), and the conversion of events.

#include <optional>
#include <string>
#include <vector>

#include "binding/agent_wrap.h"
#include "binding/js_builders.h"
#include "binding/snapshot_to_js.h"

namespace holdfast::binding {
namespace {

// Eleven values per event; lib turns them into objects.
void Append(JsArray& array, const core::WatchedEvent& event, uint64_t own_namespace) {
  const segment::WatchRingEntry& entry = event.entry;
  array.Append(event.name);
  array.Append(static_cast<uint32_t>(entry.type));
  array.Append(static_cast<uint32_t>(entry.mode));
  array.Append(ToUuid(entry.client_id));
  const bool is_near = entry.pid_namespace == own_namespace;
  array.Append(is_near ? static_cast<uint32_t>(entry.process_id) : 0U);
  array.Append(static_cast<uint32_t>(entry.thread_id));
  array.Append(static_cast<uint32_t>(entry.token >> 32));
  array.Append(static_cast<uint32_t>(entry.token));
  array.Append(static_cast<double>(entry.time_ms));
  array.Append(static_cast<double>(event.lost));
  array.Append(static_cast<uint32_t>(entry.request));
}

// False: the value is neither a string nor undefined, or JavaScript cannot run any more.
bool ReadName(napi_env env, napi_value value, std::optional<std::u16string>& name) {
  napi_valuetype type{};
  if (napi_typeof(env, value, &type) != napi_ok) return false;
  return type == napi_undefined || Read(env, value, name.emplace());
}

}  // namespace

// openWatch(name or undefined) -> id; -1: failed
napi_value AgentWrap::OpenWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  std::optional<std::u16string> name;
  if (self == nullptr || !ReadName(env, call[0], name)) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, self->Fail(Closed()));
  self->Hold();
  const Result<uint32_t> id = self->agent_->OpenWatch(std::move(name));
  return ToJs(env, id.ok() ? static_cast<int32_t>(*id) : self->Fail(id.status()));
}

// readWatch(id, most) -> WATCH_EVENT_FIELDS values per event; undefined: failed
napi_value AgentWrap::ReadWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  uint32_t max = 0;
  if (self == nullptr || !Read(env, call[0], id) || !Read(env, call[1], max)) return Quit(env);
  std::vector<core::WatchedEvent> events;
  const Status read = self->agent_ == nullptr ? Closed() : self->agent_->ReadWatch(id, max, events);
  if (!read.ok()) {
    self->Fail(read);
    return nullptr;
  }
  const segment::ProcessRef own = self->agent_->ref().process;
  const uint64_t own_namespace = self->agent_->segment().process(own.slot).pid_namespace.Get();
  JsArray array(env, events.size() * kWatchEventFields);
  for (const core::WatchedEvent& event : events) {
    const JsScope scope(env);
    if (!scope.is_open() || !array.ok()) return Quit(env);
    Append(array, event, own_namespace);
  }
  return array.result();
}

// armWatch(id) -> true: an event is being written right now. The next event after that calls
// on_events(), once.
napi_value AgentWrap::ArmWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  uint32_t id = 0;
  if (call.self() == nullptr || !Read(env, call[0], id)) return Quit(env);
  AgentWrap* const self = call.self();
  if (self->agent_ == nullptr) return ToJs(env, false);
  const bool is_behind = self->agent_->ArmWatch(id);
  self->UpdateLoop();
  return ToJs(env, is_behind);
}

// pauseWatch(id, boolean): true: incidents only from now on
napi_value AgentWrap::PauseWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  uint32_t id = 0;
  bool is_paused = false;
  if (call.self() == nullptr || !Read(env, call[0], id) || !Read(env, call[1], is_paused)) {
    return Quit(env);
  }
  if (call.self()->agent_ != nullptr) call.self()->agent_->SetWatchPaused(id, is_paused);
  return nullptr;
}

// closeWatch(id)
napi_value AgentWrap::CloseWatch(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  uint32_t id = 0;
  if (call.self() == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (call.self()->agent_ != nullptr) call.self()->agent_->CloseWatch(id);
  return nullptr;
}

}  // namespace holdfast::binding
