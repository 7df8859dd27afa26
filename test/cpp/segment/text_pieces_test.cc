#include <string>

#include "segment/record_pool.h"
#include "segment/shard_fixture.h"

namespace holdfast::test {
namespace {

using segment::CellId;
using segment::kNoCell;
using segment::TextPieces;

class TextPiecesTest : public ShardTest {
 protected:
  TextPiecesTest() {
    AddExtent(0);
    owner = TakeRequest();
  }

  bool Write(CellId id, uint32_t units) {
    const std::u16string text(units, u't');
    return TextPieces(shard, id).Write(text.data(), units, At(id).label);
  }

  CellId owner = kNoCell;
};

TEST_F(TextPiecesTest, AreAsManyAsTheUnitsNeed) {
  EXPECT_EQ(TextPieces::CellsFor(0), 0U);
  EXPECT_EQ(TextPieces::CellsFor(1), 1U);
  EXPECT_EQ(TextPieces::CellsFor(segment::kTextCellUnits), 1U);
  EXPECT_EQ(TextPieces::CellsFor(segment::kTextCellUnits + 1), 2U);
  EXPECT_EQ(TextPieces::CellsFor(UINT32_MAX), UINT32_MAX / segment::kTextCellUnits + 1);
}

TEST_F(TextPiecesTest, AreTakenAndFreedAllTogether) {
  const uint32_t free = pool.FreeCount();
  ASSERT_TRUE(Write(owner, 100));
  EXPECT_EQ(pool.FreeCount(), free - 2);
  EXPECT_TRUE(TextPieces(shard, owner).Free(At(owner).label.Get()));
  EXPECT_EQ(pool.FreeCount(), free);
}

TEST_F(TextPiecesTest, OfNothingAreNone) {
  ASSERT_TRUE(Write(owner, 0));
  EXPECT_EQ(At(owner).label.Get(), kNoCell);
}

TEST_F(TextPiecesTest, ThatThePoolDoesNotHaveAreCorruption) {
  EXPECT_FALSE(Write(owner, 8 * segment::kTextCellUnits));
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(TextPiecesTest, OfOthersAreNotFreed) {
  const CellId other = TakeRequest();
  ASSERT_TRUE(Write(other, 1));
  EXPECT_FALSE(TextPieces(shard, owner).Free(At(other).label.Get()));
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(TextPiecesTest, ThatFormACycleAreFreedOnce) {
  ASSERT_TRUE(Write(owner, 1));
  const CellId piece = At(owner).label.Get();
  segment::AsText(*shard.CellAt(piece)).following.Set(piece);
  EXPECT_FALSE(TextPieces(shard, owner).Free(piece));
  EXPECT_TRUE(IsCorrupted());
}

}  // namespace
}  // namespace holdfast::test
