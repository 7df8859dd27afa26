// A doorbell between processes: a FIFO whose owner reads and whose peers write.
//
// One byte wakes the owner's event loop; a peer that keeps its end open learns from it that the
// owner has died (see death_watch.h). Works across PID and network namespaces.
#ifndef HOLDFAST_PLATFORM_DOORBELL_H_
#define HOLDFAST_PLATFORM_DOORBELL_H_

#include <cstdint>
#include <string>

#include "platform/bucket_directory.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// The owner's end. The destructor removes the FIFO, except in a forked child.
class Doorbell {
 public:
  // Makes the FIFO `name`, which nobody else makes at the same time; replaces one that nobody reads
  // from any more. kBusy: the name is in use, or of a file of another kind.
  static Result<Doorbell> Create(const BucketDirectory& directory, std::string name);
  Doorbell(Doorbell&& other) noexcept = default;
  Doorbell& operator=(Doorbell&& other) noexcept = delete;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();

  // Readable once it has been rung, until Drain().
  int fd() const { return fd_.get(); }
  // Blocks until it has been rung, at most `timeout_ns`; a signal ends the wait, too.
  void Wait(uint64_t timeout_ns) const;
  // Takes every ring so far. Never blocks.
  void Drain() const;

 private:
  Doorbell(UniqueFd directory, UniqueFd fd, std::string name);

  UniqueFd directory_;  // its own, to outlive the BucketDirectory
  UniqueFd fd_;
  std::string name_;
  uint32_t owner_process_;
};

// A peer's end.
class PeerDoorbell {
 public:
  // kClosed: the owner has gone, with or without its FIFO. kNoAccess: what is there is no doorbell.
  static Result<PeerDoorbell> Open(const BucketDirectory& directory, const std::string& name);

  int fd() const { return fd_.get(); }
  // Wakes the owner; ok also when it has not yet answered earlier rings. kClosed: it has gone.
  // Never raises SIGPIPE. Any thread.
  Status Ring() const;

 private:
  explicit PeerDoorbell(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DOORBELL_H_
