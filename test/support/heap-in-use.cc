// An addon for tests: heapInUse() returns how many bytes of native memory are allocated now, in all
// threads' arenas; undefined where the C library does not count them.
#include <malloc.h>
#include <node_api.h>

namespace {

napi_value HeapInUse([[maybe_unused]] napi_env env, napi_callback_info) {
  napi_value bytes = nullptr;
#ifdef __GLIBC__
  const struct mallinfo2 counts = mallinfo2();
  const auto in_use = static_cast<int64_t>(counts.uordblks + counts.hblkhd);
  if (napi_create_int64(env, in_use, &bytes) != napi_ok) return nullptr;
#endif
  return bytes;
}

}  // namespace

NAPI_MODULE_INIT() {
  napi_value function = nullptr;
  if (napi_create_function(env, nullptr, 0, &HeapInUse, nullptr, &function) != napi_ok ||
      napi_set_named_property(env, exports, "heapInUse", function) != napi_ok) {
    return nullptr;
  }
  return exports;
}
