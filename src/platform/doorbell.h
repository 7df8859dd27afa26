// A doorbell between processes: a FIFO whose owner reads and whose peers write.
//
// One byte wakes the owner's event loop. A peer that keeps its end open learns of the owner's death
// (see death_watch.h). Works across PID and network namespaces.
#ifndef HOLDFAST_PLATFORM_DOORBELL_H_
#define HOLDFAST_PLATFORM_DOORBELL_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "platform/access.h"
#include "platform/bucket_directory.h"
#include "platform/fd.h"
#include "platform/known_fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

// Opens `name` with `flags` (O_RDWR or O_WRONLY), never waiting and never following a link.
// kClosed: there is none, or (O_WRONLY) it has no reader. kNoAccess: not a FIFO with this access.
Result<UniqueFd> OpenFifo(int directory, const char* name, int flags, const Access& access);

// Writes one byte into a FIFO without raising SIGPIPE. Returns as write() does: -1 with EPIPE if
// the FIFO has no reader.
ssize_t WriteByteQuietly(int fd, char byte);

// The owner's end. The destructor removes the FIFO, except in a forked child.
class Doorbell {
 public:
  // Creates the FIFO `name`; replaces one without a reader. REQUIRES: no other process creates it
  // at the same time. kBusy: the name is in use, or is a file of another kind.
  static Result<Doorbell> Create(const BucketDirectory& directory, std::string name);
  Doorbell(Doorbell&& other) noexcept = default;
  Doorbell& operator=(Doorbell&& other) noexcept = delete;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();

  // Readable once it has been rung, until Drain().
  int fd() const { return fd_.get(); }
  // Blocks until it has been rung, at most `timeout_ns`; a signal ends the wait, too. If the
  // program has closed the descriptor, blocks until the time is over.
  void Wait(uint64_t timeout_ns) const;
  // Reads every ring so far. Never blocks.
  void Drain() const;

 private:
  Doorbell(UniqueFd directory, UniqueFd fd, std::string name);

  KnownFd directory_;  // its own, to outlive the BucketDirectory
  KnownFd fd_;
  std::string name_;
  uint32_t owner_process_;
};

// A peer's end.
class PeerDoorbell {
 public:
  // kClosed: the owner has ended, with or without removing its FIFO. kNoAccess: the file is not a
  // doorbell.
  static Result<PeerDoorbell> Open(const BucketDirectory& directory, const std::string& name);

  int fd() const { return fd_.get(); }
  // Wakes the owner; ok also if earlier rings are unanswered. kClosed: the owner has ended.
  // kDisconnected: the program has closed the descriptor. Never raises SIGPIPE. Any thread.
  Status Ring() const;
  // The number of the descriptor is another's.
  void Disown() { (void)fd_.release(); }

 private:
  explicit PeerDoorbell(UniqueFd fd) : fd_(KnownFd::Marked(std::move(fd))) {}

  KnownFd fd_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DOORBELL_H_
