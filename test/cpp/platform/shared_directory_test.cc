// Directories that the members of a group share. Only root can make them and be several users.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

#include "platform/bucket_directory.h"
#include "platform/child_process.h"
#include "platform/doorbell.h"
#include "platform/slot_lock.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

constexpr gid_t kGroup = 64200;
constexpr gid_t kOtherGroup = 64209;
constexpr uid_t kMember = 64201;
constexpr uid_t kOtherMember = 64202;
constexpr uid_t kStranger = 64204;
constexpr mode_t kShared = 02770;

mode_t ModeOf(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

gid_t GroupOf(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_gid : 0;
}

// Runs `body` in a process of this user, whose only further group is `group`.
int As(uid_t user, gid_t group, const std::function<int()>& body) {
  return ChildProcess::Run([&] {
    if (setgroups(1, &group) == -1 || setgid(user) == -1 || setuid(user) == -1) return 100;
    return body();
  });
}

std::string ReasonAgainst(const std::string& directory) {
  const Result<BucketDirectory> opened = BucketDirectory::Open(directory, "bucket");
  return opened.ok() ? "" : opened.status().reason();
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

class SharedDirectoryTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be several users";
    ASSERT_EQ(chmod(root_.path().c_str(), 0755), 0);
    Make(kShared);
  }

  void Make(mode_t mode, uid_t owner = 0, gid_t group = kGroup) {
    mkdir(shared_.c_str(), 0700);
    ASSERT_EQ(chown(shared_.c_str(), owner, group), 0);
    ASSERT_EQ(chmod(shared_.c_str(), mode), 0);
  }

  // 0: a member opens the directory. 1: a member refuses it with this reason. 2: with another one.
  int OpenedBy(uid_t user, const char* reason, gid_t group = kGroup) {
    return As(user, group, [&] {
      const std::string found = ReasonAgainst(shared_);
      if (found.empty()) return 0;
      return Contains(found, reason) ? 1 : 2;
    });
  }

  TestDirectory root_{GetParam()};
  const std::string shared_ = root_ / "shared";
  const std::string bucket_ = shared_ + "/bucket";
};

INSTANTIATE_TEST_SUITE_P(On, SharedDirectoryTest, testing::Values(kOnTmpfs, kOnDisk),
                         &NameOfDirectory);

TEST_P(SharedDirectoryTest, AllThatIsMadeHasItsGroupAndModeWhateverTheUmask) {
  const int result = As(kMember, kGroup, [&] {
    umask(0077);
    const Result<BucketDirectory> directory = BucketDirectory::Open(shared_, "bucket");
    if (!directory.ok()) return 1;
    if (!directory->OpenSegment("segment", TestInit()).ok()) return 2;
    const Result<Doorbell> doorbell = Doorbell::Create(*directory, "doorbell");
    if (!doorbell.ok()) return 3;
    if (ModeOf(bucket_) != kShared || GroupOf(bucket_) != kGroup) return 4;
    for (const char* name : {"/segment", "/doorbell"}) {
      if (ModeOf(bucket_ + name) != 0660 || GroupOf(bucket_ + name) != kGroup) return 5;
    }
    return 0;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(NamesIn(shared_), std::vector<std::string>{"bucket"});
}

TEST_P(SharedDirectoryTest, MembersOpenEachOthersFiles) {
  const Result<BucketDirectory> directory = BucketDirectory::Open(shared_, "bucket");
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(directory->OpenSegment("segment", TestInit()).ok());
  const Result<Doorbell> doorbell = Doorbell::Create(*directory, "doorbell");
  ASSERT_TRUE(doorbell.ok());
  const int result = As(kMember, kGroup, [&] {
    const Result<BucketDirectory> mine = BucketDirectory::Open(shared_, "bucket");
    if (!mine.ok() || !mine->OpenSegment("segment", TestInit()).ok()) return 1;
    const Result<SlotLock> slots = SlotLock::Open(*mine, "segment");
    if (!slots.ok() || !*slots->TryClaim(7)) return 2;
    const Result<PeerDoorbell> peer = PeerDoorbell::Open(*mine, "doorbell");
    return peer.ok() && peer->Ring().ok() && mine->Unlink("segment").ok() ? 0 : 3;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(NamesIn(bucket_), std::vector<std::string>{"doorbell"});
}

TEST_P(SharedDirectoryTest, AnotherModeIsRefused) {
  for (const mode_t mode : {0770U, 02775U, 02777U, 02771U, 03770U, 06770U}) {
    Make(mode);
    EXPECT_EQ(OpenedBy(kMember, "not 2770"), 1) << std::oct << mode;
  }
  EXPECT_TRUE(NamesIn(shared_).empty());
}

TEST_P(SharedDirectoryTest, AnOwnerWhoIsNoKnownMemberIsRefused) {
  Make(kShared, kStranger);
  EXPECT_EQ(OpenedBy(kMember, "neither root nor known"), 1);
  Make(kShared, kMember);
  EXPECT_EQ(OpenedBy(kOtherMember, "neither root nor known"), 1);
  EXPECT_EQ(OpenedBy(kMember, ""), 0);  // its own
  EXPECT_TRUE(Contains(ReasonAgainst(shared_), "not a member of its group"));
}

TEST_P(SharedDirectoryTest, AnOwnerOutsideOfTheGroupMakesNoBucketThatMembersCannotUse) {
  Make(kShared, kMember);
  EXPECT_EQ(OpenedBy(kMember, "not in the group", kOtherGroup), 1);
  EXPECT_TRUE(NamesIn(shared_).empty());
}

TEST_P(SharedDirectoryTest, AKnownMemberMayOwnIt) {
  constexpr uid_t kDaemon = 1;  // an account of every system, with its own group
  Make(kShared, kDaemon, kDaemon);
  EXPECT_EQ(OpenedBy(kMember, "", kDaemon), 0);
  EXPECT_TRUE(Contains(ReasonAgainst(shared_), "not a member of its group"));  // root is not
}

TEST_P(SharedDirectoryTest, IsRefusedAsTheDirectoryOfOneUser) {
  const int result = As(kMember, kGroup, [&] {
    const Result<BucketDirectory> opened =
        BucketDirectory::Open(shared_, "bucket", Users::kOneUser);
    return !opened.ok() && Contains(opened.status().reason(), "of this user alone") ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
}

TEST_P(SharedDirectoryTest, IsRefusedToAStrangerWithTheReason) {
  EXPECT_EQ(OpenedBy(kStranger, "not a member", kOtherGroup), 1);
}

TEST_P(SharedDirectoryTest, TheGroupOfAUserNamespaceIsRefused) {
  constexpr gid_t kUnknown = 65534;
  Make(kShared, 0, kUnknown);
  EXPECT_EQ(OpenedBy(kMember, "user namespace", kUnknown), 1);
}

TEST_P(SharedDirectoryTest, ABucketOfAnotherModeOrGroupIsRefused) {
  mkdir(bucket_.c_str(), 0700);
  for (const mode_t mode : {0700U, 0770U, 02775U, 03770U}) {
    ASSERT_EQ(chmod(bucket_.c_str(), mode), 0);
    EXPECT_EQ(OpenedBy(kMember, "mode 2770"), 1) << std::oct << mode;
  }
  ASSERT_EQ(chown(bucket_.c_str(), kMember, kOtherGroup), 0);
  ASSERT_EQ(chmod(bucket_.c_str(), kShared), 0);
  EXPECT_EQ(OpenedBy(kMember, "group of its shared directory"), 1);
}

TEST_P(SharedDirectoryTest, AFileOfAnotherModeOrGroupIsRefused) {
  const Result<BucketDirectory> directory = BucketDirectory::Open(shared_, "bucket");
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(directory->OpenSegment("segment", TestInit()).ok());
  const std::string segment = bucket_ + "/segment";
  const auto reason = [&] {
    return std::string(directory->OpenSegment("segment", TestInit()).status().reason());
  };
  for (const mode_t mode : {0600U, 0640U, 0664U, 02660U}) {
    ASSERT_EQ(chmod(segment.c_str(), mode), 0);
    EXPECT_TRUE(Contains(reason(), "not 0660")) << std::oct << mode;
  }
  ASSERT_EQ(chmod(segment.c_str(), 0660), 0);
  ASSERT_EQ(chown(segment.c_str(), kMember, kOtherGroup), 0);
  EXPECT_TRUE(Contains(reason(), "another group"));
}

TEST_P(SharedDirectoryTest, AFifoOfAnotherGroupIsNoDoorbell) {
  const Result<BucketDirectory> directory = BucketDirectory::Open(shared_, "bucket");
  ASSERT_TRUE(directory.ok());
  const Result<Doorbell> doorbell = Doorbell::Create(*directory, "doorbell");
  ASSERT_TRUE(doorbell.ok());
  ASSERT_EQ(chown((bucket_ + "/doorbell").c_str(), kMember, kOtherGroup), 0);
  EXPECT_EQ(PeerDoorbell::Open(*directory, "doorbell").status().code(), StatusCode::kNoAccess);
}

// An access control list in the form of the kernel (linux/posix_acl_xattr.h): version, then tag,
// permissions and id of each entry, little-endian as all supported processors.
struct AccessListEntry {
  uint16_t tag;
  uint16_t permissions;
  uint32_t id;
};
struct AccessList {
  uint32_t version = 2;
  std::array<AccessListEntry, 5> entries;
};

constexpr uint32_t kNoId = UINT32_MAX;
constexpr AccessList kStrangerToo = {.entries = {{{0x01, 7, kNoId},      // the owner
                                                  {0x02, 7, kStranger},  // a user
                                                  {0x04, 7, kNoId},      // the group
                                                  {0x10, 7, kNoId},      // the mask
                                                  {0x20, 0, kNoId}}}};   // others

TEST_P(SharedDirectoryTest, AnAccessControlListIsRefused) {
  for (const char* name : {"system.posix_acl_access", "system.posix_acl_default"}) {
    ASSERT_EQ(removexattr(shared_.c_str(), name) == 0 || errno == ENODATA, true);
    if (setxattr(shared_.c_str(), name, &kStrangerToo, sizeof(kStrangerToo), 0) == -1) {
      ASSERT_EQ(errno, EOPNOTSUPP);
      GTEST_SKIP() << "the file system has no access control lists";
    }
    EXPECT_EQ(ModeOf(shared_), kShared);  // the mode alone does not show it
    EXPECT_EQ(OpenedBy(kMember, "access control list"), 1) << name;
    ASSERT_EQ(removexattr(shared_.c_str(), name), 0);
  }
  EXPECT_EQ(OpenedBy(kMember, ""), 0);
  ASSERT_EQ(
      setxattr(bucket_.c_str(), "system.posix_acl_access", &kStrangerToo, sizeof(kStrangerToo), 0),
      0);
  EXPECT_EQ(OpenedBy(kMember, "access control list"), 1);
}

}  // namespace
}  // namespace holdfast
