// The result of every fallible operation of core, segment and platform: a code, the operating
// system's error, and a sentence for the user.
#ifndef HOLDFAST_PLATFORM_STATUS_H_
#define HOLDFAST_PLATFORM_STATUS_H_

namespace holdfast {

enum class StatusCode {
  kOk,
  kBusy,             // not now: another process or thread is in the way
  kSegmentFull,      // the capacity of the segment is used up
  kSegmentBroken,    // the file is not a segment, or is corrupted
  kNoAccess,         // foreign owner, wrong mode, a link or another kind of file in the way
  kVersionMismatch,  // created by another version of the layout
  kClosed,           // the peer, or this side, has ended
  kDisconnected,     // the segment was removed, or this process has lost its part in it
  kNoSpace,          // the file system or the machine has no room left
  kTooManyAgents,
  kTooManyFiles,  // the limit on open descriptors
  kInvalidArgument,
  kOsError,  // anything else; see os_error()
};

// For tables and tests of every code.
inline constexpr StatusCode kLastStatusCode = StatusCode::kOsError;

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;  // success
  // `reason` has static storage: what was found and what to do about it. `os_error`: the errno.
  constexpr Status(StatusCode code, const char* reason, int os_error = 0)
      : reason_(reason), code_(code), os_error_(os_error) {}

  constexpr bool ok() const { return code_ == StatusCode::kOk; }
  constexpr StatusCode code() const { return code_; }
  constexpr int os_error() const { return os_error_; }  // 0: none
  constexpr const char* reason() const { return reason_; }

 private:
  const char* reason_ = "";
  StatusCode code_ = StatusCode::kOk;
  int os_error_ = 0;
};

// Whether a lock table could not grow: by its capacity, its file system or its memory.
constexpr bool IsForWantOfRoom(const Status& status) {
  return status.code() == StatusCode::kSegmentFull || status.code() == StatusCode::kNoSpace;
}

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_STATUS_H_
