// A process over the real platform, and its inheritance to other processes.
#include "core/attachment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "segment/shared.h"
#include "support/refused_call.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using core::Attachment;
using segment::ProcessRef;
using segment::Segment;

// Ends a child that waits for ever.
constexpr unsigned kGuardSeconds = 60;

class AttachmentTest : public testing::Test {
 protected:
  void TearDown() override {
    if (base_ != MAP_FAILED) munmap(base_, segment::kMinCapacity);
  }

  core::AttachOptions Options() const { return SmallBucketIn(directory_); }
  std::shared_ptr<Attachment> Attach() const {
    Result<std::shared_ptr<Attachment>> process = Attachment::Attach(Options());
    EXPECT_TRUE(process.ok()) << process.status().reason();
    return process.ok() ? std::move(*process) : nullptr;
  }
  // The segment, as another process that maps the same file sees it.
  Segment Table() {
    if (base_ == MAP_FAILED) {
      const UniqueFd file(open((path() + "/bucket/segment").c_str(), O_RDWR | O_CLOEXEC));
      base_ =
          mmap(nullptr, segment::kMinCapacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    }
    return {base_, segment::Geometry::ForCapacity(segment::kMinCapacity)};
  }
  // The whole life of another process.
  void DieHolding(const segment::ResourceName& name) const {
    const pid_t child = fork();
    if (child == 0) {
      Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(Options(), {1, 1});
      core::RequestParams request;
      _exit(agent.ok() && (*agent)->Request(name, request).ok() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // It is killed at the very last: all but its files is cleaned up.
  void DieWhileItLeaves() const {
    const pid_t child = fork();
    if (child == 0) {
      std::shared_ptr<Attachment> process = Attach();
      core::LockTable& lock_table = process->lock_table();
      segment::store_observer = {[](void* self) {
                                   auto& of = *static_cast<core::LockTable*>(self);
                                   const segment::ProcessEntry& entry =
                                       of.segment().process(of.self().slot);
                                   if (entry.cleaned_generation.Get() == of.self().generation)
                                     _exit(0);
                                 },
                                 &lock_table};
      process.reset();
      _exit(1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // False: it had come before it was to die.
  bool DieAtStoreWhileComing(int store) const {
    const pid_t child = fork();
    if (child == 0) {
      segment::store_observer = {[](void* left) {
                                   if (--*static_cast<int*>(left) == 0) _exit(1);
                                 },
                                 &store};
      _exit(core::Agent::Open(Options(), {1, 1}).ok() ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_NE(WEXITSTATUS(status), 2);
    return WEXITSTATUS(status) == 1;
  }
  // Runs `act` in a child that has an agent of its parent, which lives.
  static void InAChild(const std::function<void()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      act();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // Doorbells and lifelines.
  int CountFifos() const {
    int fifos = 0;
    for (const auto& file : std::filesystem::directory_iterator(path() + "/bucket")) {
      fifos += file.is_fifo() ? 1 : 0;
    }
    return fifos;
  }
  const std::string& path() const { return directory_.path(); }
  Result<SlotLock> OpenSlots() const {
    const Result<BucketDirectory> directory = BucketDirectory::Open(path(), "bucket");
    return SlotLock::Open(*directory, "segment");
  }

 private:
  const TestDirectory directory_;
  void* base_ = MAP_FAILED;
};

// All slots are taken except the slot of the dead, so that the next process comes into this one. It
// cannot clean up when it comes, because another process is inside a shard.
class DeadPredecessor : public AttachmentTest {
 protected:
  void SetUp() override {
    const segment::ResourceName name(u"n", 1);
    DieHolding(name);
    Segment table = Table();
    ASSERT_EQ(table.process(0).generation.Get(), 1U);
    others_.emplace(*OpenSlots());
    for (uint32_t slot = 1; slot < table.geometry().processes; ++slot) {
      ASSERT_TRUE(*others_->TryClaim(slot));
    }
    const ProcessRef inside{1, table.process(1).generation.Get() + 1};
    table.process(1).generation.Publish(inside.generation);
    shard_ = name.ShardIn(table);
    table.shard(shard_).lock_word.Set(inside.ToShortWord());

    successor_ = Attach();
    ASSERT_NE(successor_, nullptr);
    ASSERT_EQ(successor_->lock_table().self(), (ProcessRef{0, 2}));
    ASSERT_NE(table.agent(0).owner.Get(), 0U);
  }

  std::shared_ptr<Attachment> successor_;
  uint32_t shard_ = 0;

 private:
  std::optional<SlotLock> others_;
};

TEST_F(DeadPredecessor, IsNotCalledCleanedUpByASuccessorThatLeaves) {
  successor_.reset();
  const segment::ProcessEntry& entry = Table().process(0);
  EXPECT_NE(entry.cleaned_generation.Get(), entry.generation.Get());
}

// The process inside may have found its record.
TEST_F(DeadPredecessor, IsNotCalledCleanedUpByASuccessorThatLeavesBeforeTheOneInside) {
  Table().agent(0).owner.Set(0);
  successor_.reset();
  const segment::ProcessEntry& entry = Table().process(0);
  EXPECT_NE(entry.cleaned_generation.Get(), entry.generation.Get());
}

TEST_F(DeadPredecessor, IsCleanedUpOnceTheShardIsFree) {
  Table().shard(shard_).lock_word.Set(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Table().agent(0).owner.Get() != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Table().agent(0).owner.Get(), 0U);
}

TEST_F(AttachmentTest, ThatDiesWhileItComesLeavesNoFileForGood) {
  bool has_died = true;
  for (int store = 1; has_died; ++store) {
    DieWhileItLeaves();
    has_died = DieAtStoreWhileComing(store);
    Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(Options(), {1, 1});
    ASSERT_TRUE(agent.ok()) << "after a death at store " << store;
    constexpr int kItsOwn = 2;                                  // its lifeline and its doorbell
    while (CountFifos() != kItsOwn) std::this_thread::yield();  // its worker reaps
  }
}

TEST_F(AttachmentTest, KeepsItsLocksAndEventsWhateverAForkedChildDoesWithItsAgents) {
  const segment::ResourceName name(u"n", 1);
  core::RequestParams request;
  const std::unique_ptr<core::Agent> holder = *core::Agent::Open(Options(), {1, 1});
  const std::unique_ptr<core::Agent> waiter = *core::Agent::Open(Options(), {2, 2});
  const core::Agent::Answer held = *holder->Request(name, request);
  ASSERT_EQ(held.outcome, core::RequestOutcome::kGranted);
  ASSERT_EQ(waiter->Request(name, request)->outcome, core::RequestOutcome::kQueued);
  InAChild([&] {
    holder->End(held.id);
    holder->EndOrBias(held.id);
    holder->Close(core::EndReason::kOwnerDied);
  });
  EXPECT_FALSE(waiter->HasEvents());
  holder->End(held.id);
  std::vector<core::RequestEvent> events;
  InAChild([&] { waiter->TakeEvents(events); });
  waiter->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);
}

TEST_F(AttachmentTest, ReplacesWhatAnotherVersionHasLeft) {
  Attach().reset();
  const uint64_t token = Table().header().last_token.Get();
  Table().header().layout_version.Set(segment::kLayoutVersion - 1);
  const std::shared_ptr<Attachment> attachment = Attach();
  ASSERT_NE(attachment, nullptr);
  const Segment& made = attachment->lock_table().segment();
  EXPECT_EQ(made.header().layout_version.Get(), segment::kLayoutVersion);
  EXPECT_GT(made.header().last_token.Get(), token);
}

TEST_F(AttachmentTest, LeavesWhatAnotherVersionUses) {
  Attach().reset();
  Table().header().layout_version.Set(segment::kLayoutVersion - 1);
  const Result<SlotLock> slots = OpenSlots();
  ASSERT_TRUE(*slots->TryClaim(3));
  EXPECT_EQ(Attachment::Attach(Options()).status().code(), StatusCode::kVersionMismatch);
  slots->Unclaim(3);
  EXPECT_NE(Attach(), nullptr);
}

// Of another size, and with nothing but its header allocated.
TEST_F(AttachmentTest, KnowsNoSizesOfAnotherVersion) {
  Attach().reset();
  for (const off_t size : {off_t{4096}, off_t{64} << 20}) {
    const UniqueFd file(open((path() + "/bucket/segment").c_str(), O_RDWR | O_CLOEXEC));
    const uint32_t version = segment::kLayoutVersion + 1;
    ASSERT_EQ(pwrite(file.get(), &version, sizeof version, 8), ssize_t{sizeof version});
    ASSERT_EQ(ftruncate(file.get(), 4096), 0);
    ASSERT_EQ(ftruncate(file.get(), size), 0);
    {
      const Result<SlotLock> slots = OpenSlots();
      ASSERT_TRUE(*slots->TryClaim(3));
      const Status status = Attachment::Attach(Options()).status();
      EXPECT_EQ(status.code(), StatusCode::kVersionMismatch) << status.reason();
    }
    EXPECT_NE(Attach(), nullptr);
  }
}

TEST_F(AttachmentTest, IsOneForAllThatReplaceTheFileOfAnotherVersion) {
  constexpr int kProcesses = 8;
  for (int round = 0; round < 20; ++round) {
    Attach().reset();
    const UniqueFd file(open((path() + "/bucket/segment").c_str(), O_RDWR | O_CLOEXEC));
    const uint32_t version = segment::kLayoutVersion - 1;
    ASSERT_EQ(pwrite(file.get(), &version, sizeof version, 8), ssize_t{sizeof version});
    std::array<int, 2> gate{};
    ASSERT_EQ(pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(gate[1]);
      char byte = 0;
      (void)!read(gate[0], &byte, 1);
      _exit(static_cast<int>(Attachment::Attach(Options()).status().code()));
    }
    close(gate[0]);
    close(gate[1]);
    for (const pid_t child : children) {
      int status = -1;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0) << "round " << round << ", code " << WEXITSTATUS(status);
    }
  }
}

// A thread that opens the bucket is stopped in the middle of that.
TEST_F(AttachmentTest, IsPossibleInAChildThatWasForkedWhileAnotherThreadOpenedTheBucket) {
  struct Middle {
    std::atomic<bool> is_reached{false};
    std::atomic<bool> is_over{false};
  } middle;
  std::thread opener([&] {
    segment::store_observer = {[](void* at) {
                                 auto& here = *static_cast<Middle*>(at);
                                 here.is_reached = true;
                                 here.is_reached.notify_one();
                                 here.is_over.wait(false);
                               },
                               &middle};
    EXPECT_NE(Attach(), nullptr);
    segment::store_observer = {};
  });
  middle.is_reached.wait(false);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kGuardSeconds);
    _exit(Attachment::Attach(Options()).ok() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  middle.is_over = true;
  middle.is_over.notify_one();
  opener.join();
}

TEST_F(AttachmentTest, HashesNamesByAKeyOfItsTable) {
  const std::shared_ptr<Attachment> first = Attach();
  core::AttachOptions options = Options();
  options.bucket = "other";
  const std::shared_ptr<Attachment> second = *Attachment::Attach(options);
  const auto hash_in = [](const std::shared_ptr<Attachment>& attachment) {
    return segment::ResourceName(u"n", 1).HashIn(attachment->lock_table().segment());
  };
  EXPECT_NE(hash_in(first), hash_in(second));
  EXPECT_EQ(hash_in(first), segment::ResourceName(u"n", 1).HashIn(Table()));
}

class RefusedLocks : public AttachmentTest, public testing::WithParamInterface<int> {
 protected:
  // The exit status of a process that opens the bucket where the system refuses `command`.
  int OpenWithout(int command, const char* name) const {
    const pid_t child = fork();
    if (child == 0) {
      if (!RefuseFcntl(command, GetParam())) _exit(2);
      const Status status = Attachment::Attach(Options()).status();
      const bool says_why = std::string_view(status.reason()).find(name) != std::string_view::npos;
      _exit(!status.ok() && says_why && status.os_error() == GetParam() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
};

TEST_P(RefusedLocks, AreCheckedOnceAtOpening) {
  Attach().reset();
  EXPECT_EQ(OpenWithout(F_OFD_GETLK, "F_OFD_GETLK"), 0);
}

TEST_P(RefusedLocks, AreNamedInTheError) {
  Attach().reset();
  EXPECT_EQ(OpenWithout(F_OFD_SETLK, "F_OFD_SETLK"), 0);
}

INSTANTIATE_TEST_SUITE_P(AsSandboxesRefuse, RefusedLocks, testing::Values(EINVAL, EPERM, ENOSYS));

class MissingRoom : public AttachmentTest, public testing::WithParamInterface<int> {};

TEST_P(MissingRoom, IsNotAFullTable) {
  const pid_t child = fork();
  if (child == 0) {
    const Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(Options(), {1, 1});
    if (!agent.ok() || !RefuseCall(SYS_fallocate, GetParam())) _exit(2);
    core::RequestParams request;
    const Status status = (*agent)->Request(segment::ResourceName(u"n", 1), request).status();
    _exit(status.code() == StatusCode::kNoSpace && status.os_error() == GetParam() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(OfTheFileSystemOrTheMachine, MissingRoom,
                         testing::Values(ENOSPC, EDQUOT, ENOMEM));

}  // namespace
}  // namespace holdfast::test
