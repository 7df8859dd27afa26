// The functions of an agent that describe its table and its process, for tools.

#include "binding/agent_wrap.h"
#include "binding/js_builders.h"

namespace holdfast::binding {

// usage() -> numbers in the order of TableUsage, the layout version, and the newest token in two
// halves; undefined: closed
napi_value AgentWrap::Usage(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  if (call.self() == nullptr) return Quit(env);
  if (call.self()->agent_ == nullptr) return nullptr;
  const core::TableUsage usage = call.self()->agent_->Usage();
  JsArray array(env, 10);
  array.Append(static_cast<double>(usage.capacity));
  array.Append(usage.used_cells);
  array.Append(usage.max_cells);
  array.Append(usage.processes);
  array.Append(usage.max_processes);
  array.Append(usage.agents);
  array.Append(usage.max_agents);
  array.Append(segment::kLayoutVersion);
  const uint64_t newest_token = call.self()->agent_->segment().header().last_token.Get();
  array.Append(static_cast<uint32_t>(newest_token >> 32));
  array.Append(static_cast<uint32_t>(newest_token));
  return array.result();
}

// lifeDescriptors() -> new descriptors, which the caller closes; undefined: failed
napi_value AgentWrap::LifeDescriptors(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) {
    self->Fail(Status(StatusCode::kClosed, "the lock manager is closed"));
    return nullptr;
  }
  auto life = self->agent_->ShareLife();
  if (!life.ok()) {
    self->Fail(life.status());
    return nullptr;
  }
  JsArray array(env, life->size());
  for (const platform::UniqueFd& fd : *life) array.Append(int32_t{fd.get()});
  if (!array.ok()) return Quit(env);  // the descriptors are closed
  for (platform::UniqueFd& fd : *life) (void)fd.release();
  return array.result();
}

}  // namespace holdfast::binding
