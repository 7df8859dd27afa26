#include "platform/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace holdfast {
namespace {

TEST(Result, HasTheValueItWasMadeOf) {
  const Result<int> result = 7;
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(*result, 7);
}

TEST(Result, HasTheStatusItWasMadeOf) {
  const Result<int> result = Status(StatusCode::kClosed, "gone");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kClosed);
}

TEST(Result, DistinguishesFalseFromFailed) {
  const Result<bool> answer = false;
  EXPECT_TRUE(answer.ok());
  EXPECT_FALSE(*answer);
  static_assert(!std::is_convertible_v<Result<bool>, bool>);
  static_assert(!std::is_constructible_v<bool, Result<bool>>);
}

TEST(Result, GivesAwayAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace holdfast
