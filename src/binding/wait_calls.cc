// The functions of an agent with which JavaScript looks for deadlocks and names holders.

#include <span>

#include "binding/agent_wrap.h"
#include "binding/js_builders.h"
#include "binding/snapshot_to_js.h"
#include "core/shard_timeouts.h"

namespace holdfast::binding {
namespace {

// Answers of goOnWaitWalk().
constexpr int32_t kMore = 0;
constexpr int32_t kDone = 1;
constexpr int32_t kBusy = 2;

}  // namespace

// holdersOf(name, most) -> the values of their details, see snapshot_to_js.h; null: the shard is
// busy; undefined: failed
napi_value AgentWrap::HoldersOf(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 2> call(env, info);
  AgentWrap* const self = call.self();
  NameArgument name;
  uint32_t max = 0;
  if (self == nullptr || !name.Read(env, call[0], self->MaxNameUnits()) ||
      !Read(env, call[1], max)) {
    return Quit(env);
  }
  if (self->agent_ == nullptr || !name.fits()) {
    self->Fail(Closed());
    return nullptr;
  }
  const Result<core::Snapshot> holders = self->agent_->HoldersOf(name.name(), max);
  if (holders.ok()) return DetailsToJs(env, *holders);
  if (holders.status().code() == StatusCode::kBusy) return ToJsNull(env);
  self->Fail(holders.status());
  return nullptr;
}

// beginWaitWalk(Uint32Array of ids, with queues, with possible links) -> 0; -1: failed. Ends an
// earlier walk.
napi_value AgentWrap::BeginWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 3> call(env, info);
  AgentWrap* const self = call.self();
  std::span<uint32_t> ids;
  bool with_queues = false;
  bool with_possible = false;
  if (self == nullptr || !Read(env, call[0], ids) || !Read(env, call[1], with_queues) ||
      !Read(env, call[2], with_possible)) {
    return Quit(env);
  }
  if (self->agent_ == nullptr) return ToJs(env, self->Fail(Closed()));
  auto walk = self->agent_->BeginWaitWalk(ids, with_queues, with_possible);
  if (!walk.ok()) return ToJs(env, self->Fail(walk.status()));
  self->wait_walk_ = std::move(*walk);
  return ToJs(env, 0);
}

// goOnWaitWalk() -> 0: there is more; 1: complete; 2: a shard is busy, try again; -1: failed
napi_value AgentWrap::GoOnWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->wait_walk_ == nullptr) return ToJs(env, self->Fail(Closed()));
  const Result<bool> is_read = self->wait_walk_->GoOn(core::kNoWait);
  if (is_read.ok()) return ToJs(env, *is_read ? kDone : kMore);
  if (is_read.status().code() == StatusCode::kBusy) return ToJs(env, kBusy);
  return ToJs(env, self->Fail(is_read.status()));
}

// readWaitWalk(most) -> the next requests that were read, like inspect(); both empty: there are no
// more
napi_value AgentWrap::ReadWaitWalk(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t max = 0;
  if (self == nullptr || !Read(env, call[0], max)) return Quit(env);
  if (self->wait_walk_ == nullptr) {
    self->Fail(Closed());
    return nullptr;
  }
  const core::Snapshot part = self->wait_walk_->Take(max);
  if (part.held.empty() && part.pending.empty()) self->wait_walk_.reset();
  return DetailsToJs(env, part);
}

}  // namespace holdfast::binding
