#include <fcntl.h>
#include <gtest/gtest.h>

#include "platform/access.h"
#include "platform/fd.h"

namespace holdfast {
namespace {

TEST(FileSystem, OfSeveralMachinesIsKnown) {
  constexpr uint64_t kNfs = 0x6969;
  constexpr uint64_t kFuse = 0x65735546;
  EXPECT_TRUE(IsNetworkFileSystem(kNfs));
  EXPECT_TRUE(IsNetworkFileSystem(kFuse));
}

TEST(FileSystem, OfOneMachineIsNone) {
  constexpr uint64_t kTmpfs = 0x01021994;
  constexpr uint64_t kExt4 = 0xEF53;
  constexpr uint64_t kXfs = 0x58465342;
  constexpr uint64_t kBtrfs = 0x9123683E;
  constexpr uint64_t kOverlay = 0x794C7630;
  for (const uint64_t type : {kTmpfs, kExt4, kXfs, kBtrfs, kOverlay}) {
    EXPECT_FALSE(IsNetworkFileSystem(type)) << type;
  }
}

TEST(FileSystem, OfSharedMemoryIsGoodForABucket) {
  const UniqueFd directory(open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(CheckFileSystem(directory.get()).ok());
}

}  // namespace
}  // namespace holdfast
