#include "nbd/request_table.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace paravane::nbd {
namespace {

TEST(RequestTableTest, HasSoManyPlaces) {
  RequestTable table;
  std::set<RequestTable::Place> places;
  while (!table.is_full()) places.insert(table.take({.handle = places.size()}));
  EXPECT_EQ(places.size(), 64U);
  EXPECT_EQ(table.used(), 64U);
  table.leave(17);
  EXPECT_FALSE(table.is_full());
  EXPECT_EQ(table.take({.handle = 99}), 17);
  EXPECT_EQ(table.at(17).request.handle, 99U);
  EXPECT_EQ(table.at(17).error, ReplyError::kNone);
}

TEST(RequestTableTest, RepliesGoInTheOrderInWhichTheyCame) {
  RequestTable table;
  for (int round = 0; round < 10; ++round) {
    std::vector<RequestTable::Place> places;
    for (int i = 0; i < 40; ++i) places.push_back(table.take({}));
    for (auto place = places.rbegin(); place != places.rend(); ++place) table.finish(*place);
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      ASSERT_TRUE(table.has_replies());
      ASSERT_EQ(table.next_reply(), *place);
      table.leave(*place);
    }
    EXPECT_FALSE(table.has_replies());
    EXPECT_EQ(table.used(), 0U);
  }
}

// What a place had before is not there for the next request.
TEST(RequestTableTest, APlaceBeginsAnew) {
  RequestTable table;
  const RequestTable::Place place = table.take({.handle = 1});
  table.at(place).error = ReplyError::kIo;
  table.at(place).message = "failed";
  table.finish(place);
  table.leave(table.next_reply());
  ASSERT_EQ(table.take({.handle = 2}), place);
  EXPECT_EQ(table.at(place).error, ReplyError::kNone);
  EXPECT_EQ(table.at(place).message, "");
}

}  // namespace
}  // namespace paravane::nbd
