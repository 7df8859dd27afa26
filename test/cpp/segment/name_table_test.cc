#include "segment/name_table.h"

#include <string>

#include "segment/shard_fixture.h"

namespace holdfast::test {
namespace {

using segment::CellId;
using segment::kNoCell;
using segment::NameTable;

constexpr segment::Geometry::Counts kOneBucket{.shards = 1,
                                               .processes = 1,
                                               .agents = 1,
                                               .buckets_per_shard = 1,
                                               .extent_bytes = 4u << 20,
                                               .extents = 1};

class NameTableTest : public ShardTest {
 protected:
  NameTableTest() : ShardTest(kOneBucket) { AddExtent(0); }

  CellId Add(const std::u16string& name) { return names.Add(NameOf(name)).id; }
  CellId Find(const std::u16string& name) { return names.Find(NameOf(name)).id; }
  bool Remove(CellId id) { return names.Remove(id, segment::AsName(*shard.CellAt(id))); }

  NameTable names{shard};
};

class EveryLength : public NameTableTest, public testing::WithParamInterface<uint32_t> {
 protected:
  // Different units, so that a piece out of place shows.
  std::u16string Name() const {
    std::u16string name;
    for (uint32_t i = 0; i < GetParam(); ++i) name.push_back(static_cast<char16_t>(i * 7919));
    return name;
  }
};

TEST_P(EveryLength, IsFoundAgain) {
  Add(u"another");
  const CellId id = Add(Name());
  EXPECT_EQ(Find(Name()), id);
}

TEST_P(EveryLength, TakesAsManyCellsAsItSays) {
  Add(Name());
  EXPECT_EQ(shard.header().used_count.Get(), NameTable::CellsFor(GetParam()));
}

TEST_P(EveryLength, FreesAllItsCells) {
  EXPECT_TRUE(Remove(Add(Name())));
  EXPECT_EQ(shard.header().used_count.Get(), 0U);
  EXPECT_EQ(Find(Name()), kNoCell);
}

TEST_P(EveryLength, IsNotTakenForAnotherThatDiffersAtItsEnd) {
  const CellId id = Add(Name());
  std::u16string other = Name() + u"x";
  if (other.size() > 1) other.erase(other.size() - 2, 1);
  segment::AsName(*shard.CellAt(id)).hash.Set(NameOf(other).HashIn(shard.segment()));
  EXPECT_EQ(Find(other), kNoCell);  // though the hashes are equal
}

TEST_P(EveryLength, IsReadUnitByUnit) {
  const CellId id = Add(Name());
  segment::NameReader reader(shard, id, segment::AsName(*shard.CellAt(id)));
  for (const char16_t expected : Name()) {
    uint16_t unit = 0;
    ASSERT_TRUE(reader.Next(unit));
    ASSERT_EQ(unit, expected);
  }
}

TEST_F(NameTableTest, IsReadToTheEndOfACorruptedNameAndNeverFurther) {
  const CellId id = Add(std::u16string(100, u'n'));
  segment::NameCell& name = segment::AsName(*shard.CellAt(id));
  name.text.Set(kNoCell);
  segment::NameReader reader(shard, id, name);
  uint16_t unit = 0;
  for (uint32_t i = 0; i < segment::kNameCellUnits; ++i) ASSERT_TRUE(reader.Next(unit));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(reader.Next(unit));
}

INSTANTIATE_TEST_SUITE_P(NameTable, EveryLength,
                         testing::Values(0, 1, 31, 32, 33, 88, 89, 144, 145, 1u << 20));

TEST_F(NameTableTest, TakesOneCellUpTo32UnitsAndOneMoreForEach56) {
  EXPECT_EQ(NameTable::CellsFor(0), 1U);
  EXPECT_EQ(NameTable::CellsFor(32), 1U);
  EXPECT_EQ(NameTable::CellsFor(33), 2U);
  EXPECT_EQ(NameTable::CellsFor(88), 2U);
  EXPECT_EQ(NameTable::CellsFor(89), 3U);
  EXPECT_EQ(NameTable::CellsFor(0xFFFFFFFF), 76'695'845U);
}

TEST_F(NameTableTest, KeepsLoneSurrogatesAndZerosApart) {
  const std::u16string names_of_one_unit[] = {{0xD800}, {0xDC00}, {0xFFFD}, {0}, {}};
  std::vector<CellId> ids;
  for (const std::u16string& name : names_of_one_unit) ids.push_back(Add(name));
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Find(names_of_one_unit[i]), ids[i]);
}

TEST_F(NameTableTest, RemovesFromAnyPositionOfAChain) {
  const CellId first = Add(u"first");
  const CellId middle = Add(u"middle");
  const CellId last = Add(u"last");
  EXPECT_TRUE(Remove(middle));
  EXPECT_EQ(Find(u"first"), first);
  EXPECT_EQ(Find(u"last"), last);
  EXPECT_TRUE(Remove(last));
  EXPECT_TRUE(Remove(first));
  EXPECT_EQ(shard.segment().bucket(0, 0).Get(), kNoCell);
}

TEST_F(NameTableTest, NoticesAChainThatGoesInACycle) {
  const CellId id = Add(u"n");
  segment::AsName(*shard.CellAt(id)).hash_next.Set(id);
  EXPECT_TRUE(names.Find(NameOf(u"m")).corrupted);
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(NameTableTest, NoticesAChainThatLeadsToNoName) {
  const CellId id = Add(u"n");
  segment::AsName(*shard.CellAt(id)).hash_next.Set(TakeRequest());
  EXPECT_TRUE(names.Find(NameOf(u"m")).corrupted);
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(NameTableTest, SaysThatItCouldNotAddANameWhenThePoolIsTooSmall) {
  shard.header().free_head.Set(kNoCell);
  EXPECT_TRUE(names.Add(NameOf(u"n")).corrupted);
}

}  // namespace
}  // namespace holdfast::test
