// A forked child that runs a function, talks to its parent through two pipes, and cannot outlive
// it.
#ifndef HOLDFAST_TEST_CPP_PLATFORM_CHILD_PROCESS_H_
#define HOLDFAST_TEST_CPP_PLATFORM_CHILD_PROCESS_H_

#include <sys/types.h>

#include <csignal>
#include <functional>

#include "platform/fd.h"

namespace holdfast {

class ChildProcess {
 public:
  // The program of the child; its result is the exit status of the child (0 to 125).
  using Body = std::function<int(ChildProcess&)>;

  explicit ChildProcess(const Body& body);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // kills it

  // A child's whole life: its exit status.
  static int Run(const std::function<int()>& body);

  // In the child: notifies the parent, waits for the parent (for ever when the parent says
  // nothing).
  void SayReady();
  void WaitForParent();

  // In the parent.
  bool WaitUntilReady();  // false: the child ended without having said so
  void Continue();
  void Kill(int signal = SIGKILL);
  int Wait();  // the exit status; minus the signal when one ended the child
  bool HasEnded();
  pid_t id() const { return id_; }

 private:
  int Reap(int options);

  UniqueFd from_child_[2];
  UniqueFd from_parent_[2];
  pid_t id_;
  bool is_reaped_ = false;
  int result_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_TEST_CPP_PLATFORM_CHILD_PROCESS_H_
