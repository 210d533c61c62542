#include "store/device_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(DeviceNumbers, AreGivenInTheOrderOfTheFirstSight) {
  DeviceNumbers numbers("vmnic", {});
  EXPECT_THAT(numbers.name({"a", "b"}), ElementsAre("vmnic0", "vmnic1"));
  EXPECT_THAT(numbers.take_changes(), ElementsAre(Pair("vmnic0", "a"), Pair("vmnic1", "b")));
  // One that comes later is later, wherever it stands.
  EXPECT_THAT(numbers.name({"0", "a", "b"}), ElementsAre("vmnic2", "vmnic0", "vmnic1"));
  EXPECT_THAT(numbers.take_changes(), ElementsAre(Pair("vmnic2", "0")));
  EXPECT_THAT(numbers.take_changes(), IsEmpty());
}

TEST(DeviceNumbers, AreKeptForWhatIsAway) {
  DeviceNumbers numbers("vmnic", {{"vmnic0", "a"}, {"vmnic3", "d"}});
  EXPECT_THAT(numbers.name({"d"}), ElementsAre("vmnic3"));
  EXPECT_THAT(numbers.name({"b", "d"}), ElementsAre("vmnic1", "vmnic3"));
  EXPECT_THAT(numbers.name({"a"}), ElementsAre("vmnic0"));
}

TEST(DeviceNumbers, TakeNothingThatTheyDidNotWrite) {
  DeviceNumbers numbers("vmnic", {{"vmnic", "a"},
                                  {"vmnic1x", "b"},
                                  {"vmrdma0", "c"},
                                  {"vmnic256", "d"},
                                  {"vmnic0", "e"},
                                  {"vmnic1", "e"}});
  EXPECT_THAT(numbers.name({"e", "a"}), ElementsAre("vmnic0", "vmnic1"));
}

TEST(DeviceNumbers, WhenAllAreGivenTakeThoseOfWhatIsGone) {
  std::map<std::string, std::string> known;
  for (unsigned i = 0; i < DeviceRange().count; ++i) {
    known["vmnic" + std::to_string(i)] = "old" + std::to_string(i);
  }
  DeviceNumbers numbers("vmnic", known);
  EXPECT_THAT(numbers.name({"old0", "new", "old1"}), ElementsAre("vmnic0", "vmnic2", "vmnic1"));
  EXPECT_THAT(numbers.take_changes(), ElementsAre(Pair("vmnic2", "new")));
}

TEST(DeviceNumbers, BarredOnesAreGivenToNoneButStayWithTheOneThatHasIt) {
  DeviceNumbers numbers("vmnic", {{"vmnic1", "old"}}, {.count = 4, .barred = {1, 2}});
  EXPECT_THAT(numbers.name({"a", "old", "b", "c"}), ElementsAre("vmnic0", "vmnic1", "vmnic3", ""));
  // Neither when it is the only one of a device that is gone.
  EXPECT_THAT(numbers.name({"a", "b", "c"}), ElementsAre("vmnic0", "vmnic3", ""));
  EXPECT_THAT(numbers.given(), ElementsAre(0u, 1u, 3u));
}

TEST(DeviceNumbers, AreOfTheirRange) {
  DeviceNumbers numbers("vmnic", {{"vmnic31", "low"}, {"vmnic33", "b"}, {"vmnic34", "high"}},
                        {.first = 32, .count = 2});
  EXPECT_THAT(numbers.name({"low", "b", "high"}), ElementsAre("vmnic32", "vmnic33", ""));
  EXPECT_THAT(numbers.take_changes(), ElementsAre(Pair("vmnic32", "low")));
}

}  // namespace
}  // namespace paravane::store
