#include "platform/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "platform/os_error.h"

namespace holdfast {
namespace {

TEST(Status, IsASuccessUnlessItSaysOtherwise) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().os_error(), 0);
}

TEST(Status, KeepsCodeReasonAndErrno) {
  const Status status(StatusCode::kBusy, "a process has locked it", EAGAIN);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kBusy);
  EXPECT_STREQ(status.reason(), "a process has locked it");
  EXPECT_EQ(status.os_error(), EAGAIN);
}

TEST(OsError, DistinguishesFullFromForbiddenFromExhausted) {
  EXPECT_EQ(OsError("", ENOSPC).code(), StatusCode::kNoSpace);
  EXPECT_EQ(OsError("", EDQUOT).code(), StatusCode::kNoSpace);
  EXPECT_EQ(OsError("", EACCES).code(), StatusCode::kNoAccess);
  EXPECT_EQ(OsError("", EROFS).code(), StatusCode::kNoAccess);
  EXPECT_EQ(OsError("", EMFILE).code(), StatusCode::kTooManyFiles);
  EXPECT_EQ(OsError("", ENAMETOOLONG).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OsError("", EIO).code(), StatusCode::kOsError);
}

TEST(OsError, TakesTheErrnoOfTheFailedCall) {
  errno = EIO;
  EXPECT_EQ(OsError("").os_error(), EIO);
}

}  // namespace
}  // namespace holdfast
