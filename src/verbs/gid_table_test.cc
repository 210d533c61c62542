#include "verbs/gid_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/scripted_transport.h"

namespace paravane::verbs {
namespace {

using fake::ScriptedFabric;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr auto kV1 = GidType::kRoceV1;
constexpr auto kV2 = GidType::kRoceV2;

Gid gid(std::uint8_t last) {
  Gid made;
  made.raw[15] = last;
  return made;
}

class GidTableTest : public testing::Test {
 protected:
  fake::ScriptedTransport transport_;
  ScriptedFabric fabric_{transport_};
};

TEST_F(GidTableTest, AnnouncesOnceHoweverOftenAGidIsBound) {
  GidTable table(fabric_, 4);
  ASSERT_TRUE(table.bind(0, gid(1), kV2));
  ASSERT_TRUE(table.bind(1, gid(1), kV2));
  ASSERT_TRUE(table.bind(1, gid(1), kV2));
  EXPECT_THAT(fabric_.announced(), ElementsAre(Pair(gid(1), kV2)));

  ASSERT_TRUE(table.unbind(0));
  EXPECT_THAT(fabric_.withdrawn(), IsEmpty());
  EXPECT_TRUE(table.owns(gid(1), kV2));
  ASSERT_TRUE(table.unbind(1));
  EXPECT_THAT(fabric_.withdrawn(), ElementsAre(Pair(gid(1), kV2)));
  EXPECT_FALSE(table.owns(gid(1), kV2));
}

TEST_F(GidTableTest, TypesAreApart) {
  GidTable table(fabric_, 4);
  ASSERT_TRUE(table.bind(0, gid(1), kV2));
  EXPECT_FALSE(table.owns(gid(1), kV1));
  ASSERT_TRUE(table.bind(1, gid(1), kV1));
  EXPECT_EQ(fabric_.announced().size(), 2u);
}

TEST_F(GidTableTest, OverwritingWithdrawsTheOld) {
  GidTable table(fabric_, 4);
  ASSERT_TRUE(table.bind(2, gid(1), kV2));
  ASSERT_TRUE(table.bind(2, gid(2), kV2));
  EXPECT_THAT(fabric_.withdrawn(), ElementsAre(Pair(gid(1), kV2)));
  EXPECT_EQ(table.at(2)->gid, gid(2));
}

TEST_F(GidTableTest, RefusedAnnouncementChangesNothing) {
  GidTable table(fabric_, 4);
  ASSERT_TRUE(table.bind(0, gid(1), kV2));
  fabric_.refuse_announcements(true);
  EXPECT_FALSE(table.bind(0, gid(2), kV2));
  EXPECT_EQ(table.at(0)->gid, gid(1));
  EXPECT_THAT(fabric_.withdrawn(), IsEmpty());
}

TEST_F(GidTableTest, IndicesAreChecked) {
  GidTable table(fabric_, 4);
  EXPECT_EQ(table.bind(4, gid(1), kV2).error().code, Errc::kOutOfRange);
  EXPECT_EQ(table.unbind(4).error().code, Errc::kOutOfRange);
  EXPECT_EQ(table.at(4), std::nullopt);
  EXPECT_TRUE(table.unbind(3));
}

TEST_F(GidTableTest, WithdrawsEverythingAtItsEnd) {
  {
    GidTable table(fabric_, 4);
    ASSERT_TRUE(table.bind(0, gid(1), kV2));
    ASSERT_TRUE(table.bind(1, gid(1), kV2));
    ASSERT_TRUE(table.bind(2, gid(2), kV1));
  }
  EXPECT_THAT(fabric_.withdrawn(), ElementsAre(Pair(gid(1), kV2), Pair(gid(2), kV1)));
}

}  // namespace
}  // namespace paravane::verbs
