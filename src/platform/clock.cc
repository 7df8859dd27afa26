#include "platform/clock.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string_view>

#include "platform/fd.h"
#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t MonotonicNs() { return Now(CLOCK_MONOTONIC); }
uint64_t RealtimeNs() { return Now(CLOCK_REALTIME); }

uint64_t CoarseRealtimeMs() {
#ifdef CLOCK_REALTIME_COARSE
  return Now(CLOCK_REALTIME_COARSE) / 1'000'000;
#else
  return Now(CLOCK_REALTIME) / 1'000'000;
#endif
}

// The id of the time namespace. A kernel without time namespaces has one clock for all.
uint32_t MonotonicClockId() {
  struct stat found {};
  if (stat("/proc/self/ns/time", &found) == 0) return static_cast<uint32_t>(found.st_ino);
  return stat("/proc/self/ns", &found) == 0 ? 1 : 0;
}

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// 32 hexadecimal digits, with dashes anywhere between them.
bool ParseUuid(std::string_view text, BootId& id) {
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = HexDigit(c);
    if (digit < 0 || digits == 2 * id.size()) return false;
    uint8_t& byte = id[digits++ / 2];
    byte = static_cast<uint8_t>(byte << 4 | digit);
  }
  return digits == 2 * id.size();
}

}  // namespace

uint64_t RandomWord() {
  uint64_t word = 0;
  const auto got = RetryOnEintr([&] { return getrandom(&word, sizeof(word), 0); });
  return got == sizeof(word) ? word : RealtimeNs();
}

Result<BootId> ReadBootId() {
  BootId id{};
  const UniqueFd file(RetryOnEintr(
      [] { return open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
  if (!file) {
    const Status failed = OsError("cannot read the kernel's boot id");
    if (failed.code() == StatusCode::kTooManyFiles) return failed;
    return id;
  }
  char text[64];
  const ssize_t length = RetryOnEintr([&] { return read(file.get(), text, sizeof(text)); });
  if (length < 0) return OsError("cannot read the kernel's boot id");
  std::string_view uuid(text, static_cast<size_t>(length));
  if (uuid.ends_with('\n')) uuid.remove_suffix(1);
  if (ParseUuid(uuid, id)) return id;
  return Status(StatusCode::kOsError, "the kernel's boot id is no UUID");
}

}  // namespace platform
}  // namespace holdfast
