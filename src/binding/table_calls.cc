// The functions of an agent about its table and its process, for tools.

#include <napi.h>

#include <utility>

#include "binding/agent_wrap.h"

namespace holdfast::binding {
namespace {

AgentWrap* SelfOf(napi_env env, napi_callback_info info) {
  void* self = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &self);
  return static_cast<AgentWrap*>(self);
}

}  // namespace

// usage() -> numbers in the order of TableUsage, and the layout version; undefined: closed
napi_value AgentWrap::Usage(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info);
  if (self->agent_ == nullptr) return Napi::Env(env).Undefined();
  const core::TableUsage usage = self->agent_->Usage();
  Napi::Array array = Napi::Array::New(env);
  uint32_t at = 0;
  const auto append = [&](double number) { array[at++] = Napi::Number::New(env, number); };
  append(static_cast<double>(usage.capacity));
  append(usage.used_cells);
  append(usage.max_cells);
  append(usage.processes);
  append(usage.max_processes);
  append(usage.agents);
  append(usage.max_agents);
  append(segment::kLayoutVersion);
  return array;
}

// lifeDescriptors() -> new descriptors, which the caller closes; undefined: failed
napi_value AgentWrap::LifeDescriptors(napi_env env, napi_callback_info info) {
  AgentWrap* const self = SelfOf(env, info);
  if (self->agent_ == nullptr) {
    self->Fail(Status(StatusCode::kClosed, "the lock manager is closed"));
    return Napi::Env(env).Undefined();
  }
  auto life = self->agent_->ShareLife();
  if (!life.ok()) {
    self->Fail(life.status());
    return Napi::Env(env).Undefined();
  }
  Napi::Array array = Napi::Array::New(env);
  uint32_t at = 0;
  for (platform::UniqueFd& fd : *life) array[at++] = Napi::Number::New(env, fd.release());
  return array;
}

}  // namespace holdfast::binding
