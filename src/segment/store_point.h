// A place where a process can die: behind every store to the segment.
//
// The checked build of the core (HOLDFAST_STORE_POINTS) calls a hook there, with which tests take
// an image of the segment after every store; elsewhere the call is empty.
#ifndef HOLDFAST_SEGMENT_STORE_POINT_H_
#define HOLDFAST_SEGMENT_STORE_POINT_H_

namespace holdfast::segment {

#ifdef HOLDFAST_STORE_POINTS
using StoreHook = void (*)(void* context);
struct StoreObserver {
  StoreHook hook = nullptr;
  void* context = nullptr;
};
inline thread_local StoreObserver store_observer;
inline void StorePoint() noexcept {
  if (store_observer.hook != nullptr) store_observer.hook(store_observer.context);
}
#else
inline void StorePoint() noexcept {}
#endif

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_STORE_POINT_H_
