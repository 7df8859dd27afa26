// The addon: openAgent, openLoopHook and the constants that lib shares with it.

#include <napi.h>
#include <uv.h>

#include <memory>
#include <string>

#include "binding/addon_data.h"
#include "binding/agent_wrap.h"
#include "binding/errors.h"
#include "binding/loop_hook.h"
#include "binding/snapshot_to_js.h"

namespace holdfast::binding {
namespace {

// openAgent({ directory, bucket, capacity, sweeps, clientId, threadId }, buffer, onEvents) ->
// functions
// Throws { name, message, code } when the bucket cannot be opened.
Napi::Value OpenAgent(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Object from = info[0].As<Napi::Object>();
  core::AttachOptions options;
  options.directory = from.Get("directory").As<Napi::String>().Utf8Value();
  options.bucket = from.Get("bucket").As<Napi::String>().Utf8Value();
  options.capacity = static_cast<uint64_t>(from.Get("capacity").As<Napi::Number>().Int64Value());
  options.sweeps = from.Get("sweeps").As<Napi::Boolean>().Value();
  options.thread_id = from.Get("threadId").As<Napi::Number>().Uint32Value();
  uint64_t client_id[2] = {0, 0};
  if (!FromUuid(from.Get("clientId").As<Napi::String>().Utf8Value(), client_id)) {
    napi_throw(env, ToJs(env, Status(StatusCode::kInvalidArgument, "the client id is no UUID")));
    return env.Undefined();
  }
  std::unique_ptr<AgentWrap> agent = AgentWrap::Open(
      env, options, client_id, info[1].As<Napi::Uint32Array>(), info[2].As<Napi::Function>());
  if (agent == nullptr) return env.Undefined();
  return env.GetInstanceData<AddonData>()->Keep(std::move(agent)).Functions(env);
}

// Node's main thread runs libuv's default loop, each worker one of its own.
bool IsMainThread(Napi::Env env) {
  uv_loop_t* loop = nullptr;
  return napi_get_uv_event_loop(env, &loop) == napi_ok && loop == uv_default_loop();
}

// The table of errors, for the test that walks it.
Napi::Object ErrorTable(Napi::Env env) {
  Napi::Object table = Napi::Object::New(env);
  for (int i = 0; i <= static_cast<int>(kLastStatusCode); ++i) {
    const auto code = static_cast<StatusCode>(i);
    table.Set(CodeName(code), ErrorName(code));
  }
  return table;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new AddonData);
  exports.Set("openAgent", Napi::Function::New<OpenAgent>(env, "openAgent"));
  exports.Set("openLoopHook", Napi::Function::New<LoopHook::Open>(env, "openLoopHook"));
  exports.Set("errors", ErrorTable(env));
  exports.Set("isMainThread", IsMainThread(env));
  const auto constant = [&](const char* name, uint64_t value) {
    exports.Set(name, Napi::Number::New(env, static_cast<double>(value)));
  };
  using core::RequestEvent;
  constant("SHARED", kShared);
  constant("IF_AVAILABLE", kIfAvailable);
  constant("STEAL", kSteal);
  constant("OUTCOME_BITS", kOutcomeBits);
  constant("QUEUED", static_cast<uint64_t>(core::RequestOutcome::kQueued));
  constant("GRANTED", static_cast<uint64_t>(core::RequestOutcome::kGranted));
  constant("MISSED", static_cast<uint64_t>(core::RequestOutcome::kMissed));
  constant("EVENT_GRANTED", static_cast<uint64_t>(RequestEvent::Kind::kGranted));
  constant("EVENT_MISSED", static_cast<uint64_t>(RequestEvent::Kind::kMissed));
  constant("EVENT_FAILED", static_cast<uint64_t>(RequestEvent::Kind::kFailed));
  constant("EVENT_LOST", static_cast<uint64_t>(RequestEvent::Kind::kLost));
  constant("EVENT_EXPIRED", static_cast<uint64_t>(RequestEvent::Kind::kExpired));
  constant("EVENT_STALLED", static_cast<uint64_t>(RequestEvent::Kind::kStalled));
  constant("HAS_EVENTS", kHasEvents);
  constant("MORE_EVENTS", kMoreEvents);
  constant("DISCONNECTED", kDisconnected);
  constant("COUNT_SHIFT", kCountShift);
  constant("LOSS_STOLEN", static_cast<uint64_t>(core::Loss::kStolen));
  constant("LOSS_EXPIRED", static_cast<uint64_t>(core::Loss::kExpired));
  constant("WATCH_EVENT_FIELDS", kWatchEventFields);
  constant("TOKEN_WORDS", kTokenWords);
  constant("EVENT_WORDS", kEventWords);
  constant("MAX_EVENTS", kMaxEvents);
  constant("LEVEL_NONE", LoopHook::kNone);
  constant("LEVEL_IDLE", LoopHook::kIdle);
  constant("LEVEL_NORMAL", LoopHook::kNormal);
  constant("LEVEL_URGENT", LoopHook::kUrgent);
  constant("CELL_LEVEL", LoopHook::kLevelCell);
  constant("CELL_TURN", LoopHook::kTurnCell);
  constant("CELL_RUN", LoopHook::kRunCell);
  constant("CELL_IDLE_MS", LoopHook::kIdleMsCell);
  constant("CELL_COUNT", LoopHook::kCellCount);
  constant("DEFAULT_CAPACITY", segment::kDefaultCapacity);
  return exports;
}

}  // namespace
}  // namespace holdfast::binding

namespace {

Napi::Object InitAddon(Napi::Env env, Napi::Object exports) {
  return holdfast::binding::Init(env, exports);
}

}  // namespace

NODE_API_MODULE(holdfast, InitAddon)
