// The state of the simulated machine's kernel: FIFOs and their names, descriptors, slot locks, and
// the memory of the segment, which every process sees at a different address.
#ifndef HOLDFAST_TEST_SIMULATION_KERNEL_H_
#define HOLDFAST_TEST_SIMULATION_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

class World;

struct Fifo {
  bool has_reader = true;
  bool is_rung = false;
};

// The object that a DeathWatch waits on.
struct Watcher {
  struct Interest {
    std::shared_ptr<Fifo> fifo;
    uint64_t key;
  };
  std::map<int, Interest> interests;  // by descriptor
  std::deque<uint64_t> deaths;
  bool is_woken = false;
};

struct Descriptor {
  enum class Kind { kOther, kReader, kWriter, kSlotLock };
  Kind kind = Kind::kOther;
  uint32_t process = 0;
  bool is_closed = false;
  std::shared_ptr<Fifo> fifo;
  std::shared_ptr<Watcher> watcher;
};

class Kernel {
 public:
  explicit Kernel(World& world);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  int Open(Descriptor descriptor);
  Descriptor& At(int fd) { return descriptors_.at(fd); }
  void Close(int fd);

  std::map<std::string, std::shared_ptr<Fifo>>& files() { return files_; }
  // No process reads from this FIFO any more, or again.
  void NotifyWatchers(const std::shared_ptr<Fifo>& fifo);

  // The descriptor that has the slot, whose last lock on it goes with it; 0: none.
  int SlotOwner(uint32_t slot) const;
  void SetSlotOwner(uint32_t slot, int fd);

  // The segment as the machine has it, independent of the processes' views.
  std::byte* memory() const { return memory_; }
  bool is_new_segment = true;
  std::byte* Map(uint32_t process);
  void Unmap(std::byte* view);
  // The same byte for all processes.
  const void* Physical(const void* address) const;

  // The process has no effect from now on; its descriptors are still to be closed.
  void Die(uint32_t process);
  // Closes one descriptor of a dead process; false: there is none.
  bool CloseOneOfTheDead();

 private:
  void Release(int fd, const Descriptor& closed);

  World& world_;
  std::map<int, Descriptor> descriptors_;
  std::map<std::string, std::shared_ptr<Fifo>> files_;
  std::map<uint32_t, int> slots_;
  std::map<std::byte*, uint32_t> views_;  // the process of each view
  std::set<uint32_t> dead_;
  std::byte* memory_ = nullptr;
  int last_fd_ = 2;
};

// The size of the simulated segment, in bytes.
uint64_t SimulatedCapacity();

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_KERNEL_H_
