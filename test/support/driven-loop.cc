// An addon for tests: drive(between) runs the event loop as programs do that embed Node, Electron's
// main process for one. The program sleeps on the loop's backend descriptor, outside of uv_run(),
// and calls between() before each sleep, until that answers false. isReadable(fd) returns whether a
// descriptor is readable.
#include <node_api.h>
#include <poll.h>
#include <uv.h>

namespace {

bool GoesOn(napi_env env, napi_value between) {
  napi_value receiver = nullptr;
  napi_value answer = nullptr;
  bool goes_on = false;
  return napi_get_undefined(env, &receiver) == napi_ok &&
         napi_call_function(env, receiver, between, 0, nullptr, &answer) == napi_ok &&
         napi_get_value_bool(env, answer, &goes_on) == napi_ok && goes_on;
}

napi_value Drive(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value between = nullptr;
  uv_loop_t* loop = nullptr;
  if (napi_get_cb_info(env, info, &count, &between, nullptr, nullptr) != napi_ok) return nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) return nullptr;
  while (GoesOn(env, between)) {
    uv_update_time(loop);
    pollfd backend = {uv_backend_fd(loop), POLLIN, 0};
    (void)poll(&backend, 1, uv_backend_timeout(loop));
    uv_run(loop, UV_RUN_NOWAIT);
  }
  return nullptr;
}

napi_value IsReadable(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value number = nullptr;
  napi_value answer = nullptr;
  int32_t fd = -1;
  if (napi_get_cb_info(env, info, &count, &number, nullptr, nullptr) != napi_ok) return nullptr;
  if (napi_get_value_int32(env, number, &fd) != napi_ok) return nullptr;
  pollfd request = {fd, POLLIN, 0};
  const bool is_readable = poll(&request, 1, 0) > 0;
  return napi_get_boolean(env, is_readable, &answer) == napi_ok ? answer : nullptr;
}

napi_value Init(napi_env env, napi_value exports) {
  napi_value drive = nullptr;
  if (napi_create_function(env, "drive", NAPI_AUTO_LENGTH, Drive, nullptr, &drive) == napi_ok) {
    (void)napi_set_named_property(env, exports, "drive", drive);
  }
  napi_value is_readable = nullptr;
  if (napi_create_function(env, "isReadable", NAPI_AUTO_LENGTH, IsReadable, nullptr,
                           &is_readable) == napi_ok) {
    (void)napi_set_named_property(env, exports, "isReadable", is_readable);
  }
  return exports;
}

}  // namespace

NAPI_MODULE(driven_loop, Init)
