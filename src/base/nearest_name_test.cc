#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  const std::vector<std::string> names = {"h1", "rack-7", "rack-17"};
  EXPECT_EQ(nearest_name("rack7", names), "rack-7");
  EXPECT_EQ(nearest_name("elsewhere", names), std::nullopt);
  EXPECT_EQ(nearest_name("h1", std::vector<std::string>()), std::nullopt);
}

TEST(NearestName, IsNoSiblingWithAnotherNumber) {
  const std::vector<std::string> names = {"vmk0", "vmk12", "rack-7"};
  EXPECT_EQ(nearest_name("vmk7", names), std::nullopt);
  EXPECT_EQ(nearest_name("vmk34", std::vector<std::string>{"vmk12"}), std::nullopt);
  EXPECT_EQ(nearest_name("vmk00", names), "vmk0");
  EXPECT_EQ(nearest_name("vkm0", names), "vmk0");
  EXPECT_EQ(nearest_name("vmk", names), "vmk0");
  EXPECT_EQ(nearest_name("rak-8", names), "rack-7");
  EXPECT_EQ(nearest_name("db", std::vector<std::string>{"db1"}), "db1");
}

TEST(NearestName, IsTheOnlyOneThatBeginsSo) {
  const std::vector<std::string> names = {"mac", "memory", "no-lock", "no-pages"};
  EXPECT_EQ(nearest_name("mem", names), "memory");
  EXPECT_EQ(nearest_name("no-l", names), "no-lock");
  EXPECT_EQ(nearest_name("no-", names), std::nullopt);
  EXPECT_EQ(nearest_name("n", names), std::nullopt);
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
