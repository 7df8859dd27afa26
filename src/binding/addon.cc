// The addon: openAgent, openLoopHook and the constants that lib shares with it.

#include <napi.h>
#include <uv.h>

#include <memory>
#include <string>

#include "binding/agent_wrap.h"
#include "binding/errors.h"
#include "binding/js_values.h"
#include "binding/loop_hook.h"
#include "binding/snapshot_to_js.h"

namespace holdfast::binding {
namespace {

// Enough for most paths.
constexpr size_t kVariableSize = 256;

bool ReadOptions(napi_env env, napi_value from, core::AttachOptions& options,
                 uint64_t (&client_id)[2]) {
  int64_t capacity = 0;
  bool is_of_one_user = false;
  std::string uuid;
  if (!ReadProperty(env, from, "directory", options.directory) ||
      !ReadProperty(env, from, "bucket", options.bucket) ||
      !ReadProperty(env, from, "capacity", capacity) ||
      !ReadProperty(env, from, "isOfOneUser", is_of_one_user) ||
      !ReadProperty(env, from, "sweeps", options.sweeps) ||
      !ReadProperty(env, from, "threadId", options.thread_id) ||
      !ReadProperty(env, from, "clientId", uuid)) {
    return false;
  }
  options.capacity = static_cast<uint64_t>(capacity);
  if (is_of_one_user) options.users = platform::Users::kOneUser;
  return FromUuid(uuid, client_id);
}

// openAgent({ directory, isOfOneUser, bucket, capacity, sweeps, clientId, threadId }, buffer,
// onEvents) -> functions
// Throws { name, message, code } when the bucket cannot be opened.
napi_value OpenAgent(napi_env env, napi_callback_info info) {
  const Call<void, 3> call(env, info);
  core::AttachOptions options;
  uint64_t client_id[2] = {0, 0};
  if (!ReadOptions(env, call[0], options, client_id)) return Quit(env);
  std::unique_ptr<AgentWrap> agent = AgentWrap::Open(env, options, client_id, call[1], call[2]);
  return agent == nullptr ? nullptr : AgentWrap::PassToJs(std::move(agent));
}

// variable(name) -> the value in the environment of the process; undefined: there is none. The
// `process.env` of a worker may be another one.
napi_value Variable(napi_env env, napi_callback_info info) {
  const Call<void, 1> call(env, info);
  std::string name;
  if (!Read(env, call[0], name)) return Quit(env);
  std::string value(kVariableSize, '\0');
  size_t size = value.size();
  int error = uv_os_getenv(name.c_str(), value.data(), &size);
  if (error == UV_ENOBUFS) {
    value.resize(size);
    error = uv_os_getenv(name.c_str(), value.data(), &size);
  }
  if (error != 0) return nullptr;
  napi_value result = nullptr;
  return napi_create_string_utf8(env, value.data(), size, &result) == napi_ok ? result : Quit(env);
}

// Node's main thread runs libuv's default loop; each worker runs a separate loop.
bool IsMainThread(napi_env env) {
  uv_loop_t* loop = nullptr;
  return napi_get_uv_event_loop(env, &loop) == napi_ok && loop == uv_default_loop();
}

// The table of errors, for a test that checks every row.
napi_value ErrorTable(napi_env env) {
  JsObject table(env);
  for (int i = 0; i <= static_cast<int>(kLastStatusCode); ++i) {
    const auto code = static_cast<StatusCode>(i);
    table.Set(CodeName(code), ErrorName(code));
  }
  return table.result();
}

// The kinds of events, and what a blocking wait answers besides.
void SetEvents(JsObject& exports) {
  using core::RequestEvent;
  const auto constant = [&](const char* name, uint64_t value) {
    exports.Set(name, static_cast<double>(value));
  };
  constant("EVENT_GRANTED", static_cast<uint64_t>(RequestEvent::Kind::kGranted));
  constant("EVENT_MISSED", static_cast<uint64_t>(RequestEvent::Kind::kMissed));
  constant("EVENT_FAILED", static_cast<uint64_t>(RequestEvent::Kind::kFailed));
  constant("EVENT_LOST", static_cast<uint64_t>(RequestEvent::Kind::kLost));
  constant("EVENT_EXPIRED", static_cast<uint64_t>(RequestEvent::Kind::kExpired));
  constant("EVENT_STALLED", static_cast<uint64_t>(RequestEvent::Kind::kStalled));
  constant("EVENT_RELEASED", static_cast<uint64_t>(RequestEvent::Kind::kReleased));
  constant("EVENT_CORRUPTED", static_cast<uint64_t>(RequestEvent::Kind::kCorrupted));
  constant("EVENT_CONTENDED", static_cast<uint64_t>(RequestEvent::Kind::kContended));
  constant("CONTENTION_NONE", static_cast<uint64_t>(segment::Contention::kNone));
  constant("SELF_DEADLOCK", kSelfDeadlock);
  constant("HAS_OTHERS", kHasOthers);
}

// Null: the environment is ending while it loads the addon.
napi_value Init(napi_env env, napi_value exports_value) {
  JsObject exports(env, exports_value);
  exports.Set("openAgent", ToJsFunction(env, "openAgent", &OpenAgent, nullptr));
  exports.Set("openLoopHook", ToJsFunction(env, "openLoopHook", &LoopHook::Open, nullptr));
  exports.Set("errors", ErrorTable(env));
  exports.Set("isMainThread", IsMainThread(env));
  exports.Set("variable", ToJsFunction(env, "variable", &Variable, nullptr));
  const auto constant = [&](const char* name, uint64_t value) {
    exports.Set(name, static_cast<double>(value));
  };
  constant("SHARED", kShared);
  constant("IF_AVAILABLE", kIfAvailable);
  constant("STEAL", kSteal);
  constant("BACKGROUND", kBackground);
  constant("USER_BLOCKING", kUserBlocking);
  constant("OUTCOME_BITS", kOutcomeBits);
  constant("GRANTED_BEHIND", kGrantedBehind);
  constant("QUEUED", static_cast<uint64_t>(core::RequestOutcome::kQueued));
  constant("GRANTED", static_cast<uint64_t>(core::RequestOutcome::kGranted));
  constant("MISSED", static_cast<uint64_t>(core::RequestOutcome::kMissed));
  SetEvents(exports);
  constant("HAS_EVENTS", kHasEvents);
  constant("IS_BIASED", kIsBiased);
  constant("SLOT_SHIFT", kSlotShift);
  constant("MAX_BIASED", core::BiasedSlots::kMax);
  constant("BUDGET_WORD", kBudgetWord);
  constant("BUDGET_WORDS", kBudgetWords);
  constant("FREED_WORD", kFreedWord);
  constant("TURN_WORD", kTurnWord);
  constant("STATES_WORD", kStatesWord);
  constant("TOKEN_BYTES", offsetof(segment::RequestCell, token));
  constant("MODE_BYTES", offsetof(segment::RequestCell, mode));
  constant("REQUESTED_BYTES", offsetof(segment::RequestCell, requested_ms));
  constant("GRANTED_BYTES", offsetof(segment::RequestCell, granted_ms));
  constant("MORE_EVENTS", kMoreEvents);
  constant("DISCONNECTED", kDisconnected);
  constant("COUNT_SHIFT", kCountShift);
  constant("LOSS_STOLEN", static_cast<uint64_t>(core::Loss::kStolen));
  constant("LOSS_EXPIRED", static_cast<uint64_t>(core::Loss::kExpired));
  constant("LOSS_UNKNOWN", static_cast<uint64_t>(core::Loss::kUnknown));
  constant("LOSS_CORRUPTED", static_cast<uint64_t>(core::Loss::kCorrupted));
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
  return exports.result();
}

}  // namespace
}  // namespace holdfast::binding

namespace {

// Only the registration uses node-addon-api: its classes abort the process when a call of Node-API
// fails (decision 0023).
Napi::Object InitAddon(Napi::Env env, Napi::Object exports) {
  return {env, holdfast::binding::Init(env, exports)};
}

}  // namespace

NODE_API_MODULE(holdfast, InitAddon)
