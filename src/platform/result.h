// A value, or the Status that says why there is none.
//
// There is no conversion to bool: a Result<bool> would invite reading "it failed" as "false".
#ifndef HOLDFAST_PLATFORM_RESULT_H_
#define HOLDFAST_PLATFORM_RESULT_H_

#include <cassert>
#include <optional>
#include <utility>

#include "platform/status.h"

namespace holdfast {

template <typename T>
class [[nodiscard]] Result {
 public:
  // Both implicit, so that a function can return either.
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status) { assert(!status.ok()); }
  // Makes the value where it stays.
  template <typename... Arguments>
  explicit Result(std::in_place_t, Arguments&&... arguments)
      : value_(std::in_place, std::forward<Arguments>(arguments)...) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // Only after ok().
  T& operator*() & {
    assert(ok());
    return *value_;
  }
  const T& operator*() const& {
    assert(ok());
    return *value_;
  }
  T&& operator*() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() {
    assert(ok());
    return &*value_;
  }
  const T* operator->() const {
    assert(ok());
    return &*value_;
  }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_RESULT_H_
