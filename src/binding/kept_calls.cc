// The functions of an agent with which JavaScript keeps names: it takes and gives back a kept
// record through a view of the record's bytes (docs/decisions/0025-kept-names.md).

#include "binding/agent_wrap.h"
#include "binding/js_values.h"
#include "segment/kept_record.h"

namespace holdfast::binding {

// endOrKeep(id) -> like end(id), or IS_KEPT | slot << SLOT_SHIFT: the record is kept, its states
// are in the buffer, and the id stays in use
napi_value AgentWrap::EndOrKeep(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return ToJs(env, 0);
  const core::Agent::Released released = self->agent_->EndOrKeep(id);
  self->UpdateLoop();
  if (released.slot == core::KeptSlots::kNone) return ToJs(env, self->AnswerOf(released.loss));
  const uint64_t ticket = self->agent_->KeptTicket(released.slot);
  self->words_[kStatesWord] = static_cast<uint32_t>(segment::KeptState(ticket));
  self->words_[kStatesWord + 1] = static_cast<uint32_t>(segment::TakenState(ticket));
  return ToJs(env, self->AnswerOf(core::Loss::kNone) | kIsKept | released.slot << kSlotShift);
}

// dropKept(id): frees a kept record that is not taken, and detaches its view
napi_value AgentWrap::DropKept(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t id = 0;
  if (self == nullptr || !Read(env, call[0], id)) return Quit(env);
  if (self->agent_ == nullptr) return nullptr;
  self->agent_->Abandon(id, core::EndReason::kReleased);
  self->UpdateLoop();
  return nullptr;
}

// openGate() -> boolean: JavaScript may take kept names again, in this turn of the loop
napi_value AgentWrap::OpenGate(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr || self->words_[kGateWord] == kForkedGate) return ToJs(env, false);
  self->agent_->BeginTurn();  // looks whether the table is still in its place
  if (!self->agent_->CheckUsable().ok()) return ToJs(env, false);
  self->Hold();
  self->words_[kGateWord] = kOpenGate;
  self->WriteToken(kTurnWord, self->agent_->turn_ms());
  return ToJs(env, true);
}

// view(slot) -> an ArrayBuffer over the record that endOrKeep() has kept there; null: this
// environment has none
napi_value AgentWrap::View(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 1> call(env, info);
  AgentWrap* const self = call.self();
  uint32_t slot = 0;
  if (self == nullptr || !Read(env, call[0], slot)) return Quit(env);
  if (self->agent_ == nullptr || !self->agent_->IsKept(slot)) return ToJsNull(env);
  return self->MakeView(&self->agent_->KeptRecord(slot), segment::kCellBytes, self->views_[slot]);
}

// tokenView() -> an ArrayBuffer over the newest token of the bucket; null as above
napi_value AgentWrap::TokenView(napi_env env, napi_callback_info info) {
  const Call<AgentWrap, 0> call(env, info);
  AgentWrap* const self = call.self();
  if (self == nullptr) return Quit(env);
  if (self->agent_ == nullptr) return ToJsNull(env);
  segment::Shared<uint64_t>& last = self->agent_->last_token();
  return self->MakeView(last.atomic(), sizeof(uint64_t), self->token_view_);
}

napi_value AgentWrap::MakeView(void* data, size_t bytes, JsReference& reference) {
  Detach(reference);
  napi_value view = nullptr;
  const bool is_made =
      napi_create_external_arraybuffer(env_, data, bytes, nullptr, nullptr, &view) == napi_ok &&
      reference.Keep(env_, view);
  if (is_made) return view;
  if (view != nullptr) DetachBuffer(env_, view);
  return ToJsNull(env_);
}

void AgentWrap::Detach(JsReference& reference) {
  const napi_value view = reference.Get();
  if (view != nullptr) DetachBuffer(env_, view);
  reference.Reset();
}

void AgentWrap::DetachViews() {
  for (JsReference& view : views_) Detach(view);
  Detach(token_view_);
}

// Between two turns, or in a call from JavaScript, which looks at the gate before it stores.
void AgentWrap::OnKeptFreed(uint32_t slot) {
  CloseGate();
  words_[kFreedWord] |= 1U << slot;
  const JsScope scope(env_);
  if (scope.is_open()) Detach(views_[slot]);
}

}  // namespace holdfast::binding
