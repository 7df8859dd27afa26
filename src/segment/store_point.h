// The points at which a process can die or be overtaken: after every store to the segment and after
// every load from it.
//
// The checked build of the core (HOLDFAST_STORE_POINTS) calls hooks there, which tests use to take
// an image of the segment after every store, or to run other simulated processes. In other builds
// the calls are empty.
#ifndef HOLDFAST_SEGMENT_STORE_POINT_H_
#define HOLDFAST_SEGMENT_STORE_POINT_H_

namespace holdfast::segment {

#ifdef HOLDFAST_STORE_POINTS
using StoreHook = void (*)(void* context);
struct StoreObserver {
  StoreHook hook = nullptr;
  void* context = nullptr;
  StoreHook load_hook = nullptr;
};
inline thread_local StoreObserver store_observer;
inline void StorePoint() noexcept {
  if (store_observer.hook != nullptr) store_observer.hook(store_observer.context);
}
inline void LoadPoint() noexcept {
  if (store_observer.load_hook != nullptr) store_observer.load_hook(store_observer.context);
}
#else
inline void StorePoint() noexcept {}
inline void LoadPoint() noexcept {}
#endif

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_STORE_POINT_H_
