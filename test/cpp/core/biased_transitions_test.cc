// The steps of a biased record, held against the table with which the steps of JavaScript are held,
// too.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "segment/biased_record.h"

namespace holdfast::test {
namespace {

constexpr uint64_t kTicket = 0x0123456789ABCDEF;

uint64_t FromHex(const std::string& text) { return std::stoull(text, nullptr, 16); }

TEST(BiasedTransitions, AreThoseOfTheTable) {
  std::ifstream table(HOLDFAST_BIASED_TRANSITIONS);
  ASSERT_TRUE(table.is_open());
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ++rows;
    std::istringstream columns(line);
    std::string step, before, succeeds, after, token, mode, time;
    columns >> step >> before >> succeeds >> after >> token >> mode >> time;
    segment::RequestCell record{};
    record.ticket.Set(kTicket);
    record.state.Set(static_cast<segment::CellState>(FromHex(before)));
    const auto lock_mode = static_cast<uint8_t>(step == "take-shared" ? 1 : 0);
    const segment::Hold hold{0x123456789, 0x18D5E1A2B3C, lock_mode};
    const bool has_succeeded = step == "give-back" ? segment::ReleaseBiased(record, kTicket)
                                                   : segment::AcquireBiased(record, kTicket, hold);
    EXPECT_EQ(has_succeeded ? "yes" : "no", succeeds);
    EXPECT_EQ(static_cast<uint32_t>(record.state.Get()), FromHex(after));
    if (token == "-") continue;
    EXPECT_EQ(record.token.Get(), FromHex(token));
    EXPECT_EQ(record.mode.Get(), FromHex(mode));
    EXPECT_EQ(record.requested_ms.Get(), FromHex(time));
    EXPECT_EQ(record.granted_ms.Get(), FromHex(time));
  }
  EXPECT_GT(rows, 10);
}

}  // namespace
}  // namespace holdfast::test
