#include "segment/resource_name.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/fake_machine.h"

namespace holdfast::segment {
namespace {

constexpr NameKey kKey{{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

uint64_t HashOf(const std::u16string& units, const NameKey& key = kKey) {
  NameHasher hasher(key);
  for (const char16_t unit : units) hasher.Add(unit);
  return hasher.Finish(static_cast<uint32_t>(units.size()));
}

// No choice of names makes them meet in every table.
TEST(ResourceName, HashesDifferentlyWithEachKey) {
  std::set<uint64_t> hashes;
  for (uint64_t bit = 1; bit != 0; bit <<= 1) {
    hashes.insert(HashOf(u"ledger", {{bit, 0}}));
    hashes.insert(HashOf(u"ledger", {{0, bit}}));
  }
  EXPECT_EQ(hashes.size(), 128U);
}

TEST(ResourceName, HashesEqualNamesAlike) {
  EXPECT_EQ(HashOf(u"ledger"), HashOf(std::u16string(u"led") + u"ger"));
}

TEST(ResourceName, DistinguishesZerosOfDifferentNumbers) {
  std::set<uint64_t> hashes;
  for (size_t length = 0; length < 100; ++length) hashes.insert(HashOf(std::u16string(length, 0)));
  EXPECT_EQ(hashes.size(), 100U);
}

TEST(ResourceName, DistinguishesLoneSurrogates) {
  EXPECT_NE(HashOf({0xD800}), HashOf({0xD801}));
  EXPECT_NE(HashOf({0xD800}), HashOf({0xDC00}));
  EXPECT_NE(HashOf({0xD800}), HashOf({0xFFFD}));
}

TEST(ResourceName, DistinguishesTheOrderOfUnits) { EXPECT_NE(HashOf(u"ab"), HashOf(u"ba")); }

TEST(ResourceName, SpreadsSimilarNamesOverTheShards) {
  constexpr uint32_t kShards = 64;
  std::vector<int> count(kShards);
  for (char16_t unit = 0; unit < 6400; ++unit) {
    const std::u16string name = {u'k', unit};
    ++count[ShardOfHash(HashOf(name), kShards)];
  }
  for (const int names : count) {
    EXPECT_GT(names, 40);
    EXPECT_LT(names, 190);
  }
}

TEST(ResourceName, DistinguishesEachUnitAtEachPosition) {
  constexpr size_t kLength = 11;
  std::set<uint64_t> hashes;
  for (size_t at = 0; at < kLength; ++at) {
    for (int bit = 0; bit < 16; ++bit) {
      std::u16string name(kLength, u'n');
      name[at] = static_cast<char16_t>(name[at] ^ (1 << bit));
      hashes.insert(HashOf(name));
    }
  }
  EXPECT_EQ(hashes.size(), kLength * 16);
}

TEST(ResourceName, HasTheHashOfItsPartsInEveryTable) {
  const std::u16string name = u"a name in pieces";
  for (const NameKey& key : {NameKey{}, kKey}) {
    test::FakeMachine machine;
    machine.segment().Initialize(test::kBoot, test::kFirstToken, key);
    EXPECT_EQ(test::NameOf(name).HashIn(machine.segment()), HashOf(name, key));
  }
}

}  // namespace
}  // namespace holdfast::segment
