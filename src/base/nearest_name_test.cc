#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  const std::vector<std::string> names = {"h1", "rack-7", "rack-17"};
  EXPECT_EQ(nearest_name("rack7", names), "rack-7");
  EXPECT_EQ(nearest_name("h2", names), "h1");
  EXPECT_EQ(nearest_name("elsewhere", names), std::nullopt);
  EXPECT_EQ(nearest_name("h1", std::vector<std::string>()), std::nullopt);
}

TEST(NearestName, TakesLettersThatHaveChangedPlacesForOneStep) {
  EXPECT_EQ(edit_distance("lsit", "list"), 1u);
  EXPECT_EQ(edit_distance("list", "list"), 0u);
  EXPECT_EQ(edit_distance("", "list"), 4u);
  EXPECT_EQ(edit_distance("list", ""), 4u);
  EXPECT_EQ(nearest_name("lsit", std::vector<std::string>{"set", "list", "delete"}), "list");
}

}  // namespace
}  // namespace paravane
