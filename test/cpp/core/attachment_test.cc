// A process over the real platform: what it leaves to whom.
#include "core/attachment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/agent.h"

namespace holdfast::test {
namespace {

using core::Attachment;
using segment::ProcessRef;
using segment::Segment;

class AttachmentTest : public testing::Test {
 protected:
  void TearDown() override {
    if (base_ != MAP_FAILED) munmap(base_, segment::kMinCapacity);
    std::filesystem::remove_all(path_);
  }

  core::AttachOptions Options() const {
    core::AttachOptions options;
    options.directory = path_;
    options.bucket = "bucket";
    options.capacity = segment::kMinCapacity;
    options.sweeps = false;
    return options;
  }
  std::shared_ptr<Attachment> Attach() const {
    Result<std::shared_ptr<Attachment>> process = Attachment::Attach(Options());
    EXPECT_TRUE(process.ok()) << process.status().reason();
    return process.ok() ? std::move(*process) : nullptr;
  }
  // As whoever maps the same file.
  Segment Table() {
    if (base_ == MAP_FAILED) {
      const UniqueFd file(open((path_ + "/bucket/segment").c_str(), O_RDWR | O_CLOEXEC));
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
      core::LockRequest request;
      _exit(agent.ok() && (*agent)->Request(name, request).ok() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Result<SlotLock> OpenSlots() const {
    const Result<BucketDirectory> directory = BucketDirectory::Open(path_, "bucket");
    return SlotLock::Open(*directory, "segment");
  }

 private:
  static std::string MakeDirectory() {
    std::string path = "/dev/shm/holdfast-process-XXXXXX";
    return mkdtemp(path.data()) == nullptr ? std::string() : path;
  }

  const std::string path_ = MakeDirectory();
  void* base_ = MAP_FAILED;
};

// The successor could not clean up when it came, because somebody was inside a shard; when it has
// left, others still have to find what the predecessor left.
TEST_F(AttachmentTest, ThatLeavesDoesNotCallItsDeadPredecessorCleanedUp) {
  const segment::ResourceName name(u"n", 1);
  DieHolding(name);
  Segment table = Table();
  const segment::ProcessEntry& entry = table.process(0);
  ASSERT_EQ(entry.generation.Get(), 1U);
  // All other slots are taken, so that the next process comes into this one; one of the others is
  // inside the shard.
  const Result<SlotLock> others = OpenSlots();
  ASSERT_TRUE(others.ok());
  for (uint32_t slot = 1; slot < table.geometry().processes; ++slot) {
    ASSERT_TRUE(*others->TryClaim(slot));
  }
  const ProcessRef inside{1, table.process(1).generation.Get() + 1};
  table.process(1).generation.Publish(inside.generation);
  table.shard(name.ShardOf(table.geometry().shards)).lock_word.Set(inside.ToShortWord());

  std::shared_ptr<Attachment> successor = Attach();
  ASSERT_NE(successor, nullptr);
  ASSERT_EQ(successor->manager().self(), (ProcessRef{0, 2}));
  successor.reset();
  EXPECT_NE(entry.cleaned_generation.Get(), entry.generation.Get());
}

}  // namespace
}  // namespace holdfast::test
