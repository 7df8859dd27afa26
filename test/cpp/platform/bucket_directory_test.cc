#include "platform/bucket_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "platform/child_process.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

constexpr uid_t kOtherUser = 65534;

mode_t ModeOf(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

StatusCode CodeOfOpening(const std::string& directory, const std::string& bucket = "bucket") {
  const Result<BucketDirectory> opened = BucketDirectory::Open(directory, bucket);
  return opened.ok() ? StatusCode::kOk : opened.status().code();
}

// As another user; 100 when that cannot be tried. The test directory is open to all users.
int AsOtherUser(const std::function<int()>& body) {
  return ChildProcess::Run([&] {
    if (setgid(kOtherUser) == -1 || setuid(kOtherUser) == -1) return 100;
    return body();
  });
}

class BucketDirectoryTest : public testing::TestWithParam<const char*> {
 protected:
  TestDirectory root_{GetParam()};
  const std::string parent_ = root_ / "parent";
};

INSTANTIATE_TEST_SUITE_P(On, BucketDirectoryTest, testing::Values(kOnTmpfs, kOnDisk),
                         &NameOfDirectory);

TEST_P(BucketDirectoryTest, MakesBothDirectoriesForTheOwnerAlone) {
  ASSERT_EQ(CodeOfOpening(parent_), StatusCode::kOk);
  EXPECT_EQ(ModeOf(parent_), 0700U);
  EXPECT_EQ(ModeOf(parent_ + "/bucket"), 0700U);
}

TEST_P(BucketDirectoryTest, OpensTheSameDirectoryAgain) {
  const Result<BucketDirectory> first = BucketDirectory::Open(parent_, "bucket");
  const Result<BucketDirectory> second = BucketDirectory::Open(parent_ + "//", "bucket");
  ASSERT_TRUE(first.ok() && second.ok());
  struct stat a {};
  struct stat b {};
  fstat(first->fd(), &a);
  fstat(second->fd(), &b);
  EXPECT_EQ(a.st_ino, b.st_ino);
}

TEST_P(BucketDirectoryTest, IsNotInheritedByPrograms) {
  const Result<BucketDirectory> opened = BucketDirectory::Open(parent_, "bucket");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(fcntl(opened->fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_P(BucketDirectoryTest, RefusesALinkInsteadOfTheDirectory) {
  mkdir((root_ / "elsewhere").c_str(), 0700);
  ASSERT_EQ(symlink((root_ / "elsewhere").c_str(), parent_.c_str()), 0);
  EXPECT_EQ(CodeOfOpening(parent_), StatusCode::kNoAccess);
  EXPECT_EQ(CodeOfOpening(parent_ + "/"), StatusCode::kNoAccess);
  EXPECT_TRUE(NamesIn(root_ / "elsewhere").empty());
}

TEST_P(BucketDirectoryTest, RefusesALinkInsteadOfTheBucket) {
  mkdir(parent_.c_str(), 0700);
  mkdir((root_ / "elsewhere").c_str(), 0700);
  ASSERT_EQ(symlink((root_ / "elsewhere").c_str(), (parent_ + "/bucket").c_str()), 0);
  EXPECT_EQ(CodeOfOpening(parent_), StatusCode::kNoAccess);
}

TEST_P(BucketDirectoryTest, RefusesALinkThatLeadsNowhere) {
  ASSERT_EQ(symlink("nowhere", parent_.c_str()), 0);
  EXPECT_EQ(CodeOfOpening(parent_), StatusCode::kNoAccess);
  EXPECT_NE(access((root_ / "nowhere").c_str(), F_OK), 0);
}

TEST_P(BucketDirectoryTest, RefusesAFile) {
  close(creat(parent_.c_str(), 0700));
  EXPECT_EQ(CodeOfOpening(parent_), StatusCode::kNoAccess);
}

TEST_P(BucketDirectoryTest, RefusesRightsOfGroupOrOthers) {
  for (const mode_t mode : {0710U, 0740U, 0701U, 0704U, 0777U}) {
    mkdir(parent_.c_str(), 0700);
    ASSERT_EQ(chmod(parent_.c_str(), mode), 0);
    EXPECT_EQ(CodeOfOpening(parent_), StatusCode::kNoAccess) << std::oct << mode;
  }
}

TEST_P(BucketDirectoryTest, SaysWhenTheUmaskTakesRightsFromTheOwner) {
  const mode_t before = umask(0277);
  const StatusCode code = CodeOfOpening(parent_);
  umask(before);
  EXPECT_EQ(code, StatusCode::kNoAccess);
}

TEST_P(BucketDirectoryTest, RefusesAnotherUsersDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  mkdir(parent_.c_str(), 0700);
  ASSERT_EQ(chown(parent_.c_str(), kOtherUser, kOtherUser), 0);
  const Result<BucketDirectory> opened = BucketDirectory::Open(parent_, "bucket");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kNoAccess);
  EXPECT_NE(std::string(opened.status().reason()).find("another user"), std::string::npos);
}

TEST_P(BucketDirectoryTest, IsRefusedToAnotherUserWithTheReason) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  ASSERT_EQ(chmod(root_.path().c_str(), 0755), 0);
  ASSERT_EQ(CodeOfOpening(parent_), StatusCode::kOk);
  const int result = AsOtherUser([&] {
    const Result<BucketDirectory> opened = BucketDirectory::Open(parent_, "bucket");
    if (opened.ok() || opened.status().code() != StatusCode::kNoAccess) return 1;
    const std::string reason = opened.status().reason();
    return reason.find("another user") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(result, 0);
}

TEST_P(BucketDirectoryTest, SaysWhenTheUserMayNotMakeOne) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  ASSERT_EQ(chmod(root_.path().c_str(), 0755), 0);
  const int result = AsOtherUser([&] { return static_cast<int>(CodeOfOpening(parent_)); });
  EXPECT_EQ(result, static_cast<int>(StatusCode::kNoAccess));
}

TEST_P(BucketDirectoryTest, DoesNotMakeTheDirectoriesAbove) {
  EXPECT_EQ(CodeOfOpening(root_ / "missing/parent"), StatusCode::kNoAccess);
  EXPECT_TRUE(NamesIn(root_.path()).empty());
}

TEST_P(BucketDirectoryTest, TakesOnlyNames) {
  const std::string with_nul("a\0b", 3);
  for (const std::string& bucket : {std::string(), std::string("."), std::string(".."),
                                    std::string("a/b"), std::string("../a"), with_nul}) {
    EXPECT_EQ(CodeOfOpening(parent_, bucket), StatusCode::kInvalidArgument) << bucket;
  }
  for (const std::string& directory :
       {std::string(), std::string("/"), parent_ + "/.", parent_ + "/..", parent_ + with_nul}) {
    EXPECT_EQ(CodeOfOpening(directory), StatusCode::kInvalidArgument) << directory;
  }
  EXPECT_EQ(CodeOfOpening(parent_, std::string(300, 'a')), StatusCode::kInvalidArgument);
}

TEST_P(BucketDirectoryTest, RemovesFilesOnce) {
  const Result<BucketDirectory> opened = BucketDirectory::Open(parent_, "bucket");
  ASSERT_TRUE(opened.ok());
  close(creat((parent_ + "/bucket/file").c_str(), 0600));
  EXPECT_TRUE(opened->Unlink("file").ok());
  EXPECT_TRUE(NamesIn(parent_ + "/bucket").empty());
  EXPECT_TRUE(opened->Unlink("file").ok());
  EXPECT_EQ(opened->Unlink("../bucket").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast
