#include "platform/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace holdfast {
namespace {

constexpr unsigned kWatchdogSeconds = 120;

void OpenPipe(UniqueFd (&ends)[2]) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) == -1) {
    std::perror("pipe2");
    std::abort();
  }
  ends[0].reset(fds[0]);
  ends[1].reset(fds[1]);
}

bool ReadByte(int fd) {
  char byte = 0;
  ssize_t length = 0;
  do {
    length = read(fd, &byte, 1);
  } while (length == -1 && errno == EINTR);
  return length == 1;
}

void WriteByte(int fd) {
  if (write(fd, "!", 1) != 1) std::perror("write to a pipe");
}

}  // namespace

ChildProcess::ChildProcess(const Body& body) {
  OpenPipe(from_child_);
  OpenPipe(from_parent_);
  std::fflush(nullptr);
  id_ = fork();
  if (id_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kWatchdogSeconds);
    from_child_[0].reset();
    from_parent_[1].reset();
    const int status = body(*this);
    std::fflush(nullptr);
    _exit(status);
  }
  from_child_[1].reset();
  from_parent_[0].reset();
  if (id_ == -1) {
    std::perror("fork");
    std::abort();
  }
}

ChildProcess::~ChildProcess() {
  if (is_reaped_) return;
  Kill();
  Wait();
}

int ChildProcess::Run(const std::function<int()>& body) {
  return ChildProcess([&](ChildProcess&) { return body(); }).Wait();
}

void ChildProcess::SayReady() { WriteByte(from_child_[1].get()); }

void ChildProcess::WaitForParent() { ReadByte(from_parent_[0].get()); }

bool ChildProcess::WaitUntilReady() { return ReadByte(from_child_[0].get()); }

void ChildProcess::Continue() { WriteByte(from_parent_[1].get()); }

void ChildProcess::Kill(int signal) { kill(id_, signal); }

int ChildProcess::Wait() { return Reap(0); }

bool ChildProcess::HasEnded() {
  Reap(WNOHANG);
  return is_reaped_;
}

int ChildProcess::Reap(int options) {
  if (is_reaped_) return result_;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(id_, &status, options);
  } while (ended == -1 && errno == EINTR);
  if (ended != id_) return result_;
  is_reaped_ = true;
  result_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result_;
}

}  // namespace holdfast
