#include "json/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane {
namespace {

using testing::HasSubstr;

// What was parsed may be copied and printed, which goes deeper with each level.
TEST(JsonText, HasABoundOfLevels) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)));
  for (const int levels : {kMaxJsonDepth + 1, kMaxJsonDepth + 2, 30'000}) {
    const auto refused = parse_json(nested(levels));
    ASSERT_FALSE(refused) << levels;
    EXPECT_EQ(refused.error().message, "the JSON is nested too deeply");
  }
  std::string objects;
  for (int i = 0; i <= kMaxJsonDepth; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_json(objects + "1" + std::string(kMaxJsonDepth + 1, '}')));
}

TEST(JsonText, RefusesAKeyThatStandsTwice) {
  const auto refused = parse_json(R"({"a":{"b":1,"c":2,"b":3}})");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("duplicate key \"b\""));
  EXPECT_TRUE(parse_json(R"([{"b":1},{"b":1}])"));
}

TEST(JsonText, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "nul", "{\"a\":}", "[1] 2"}) {
    const auto refused = parse_json(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().message, "not valid JSON");
  }
}

TEST(JsonText, PrintsBytesThatAreNotText) {
  EXPECT_EQ(print_json("a\xff"), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace paravane
