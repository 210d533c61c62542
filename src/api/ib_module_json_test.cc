#include "api/ib_module_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::api {
namespace {

using nlohmann::json;

model::IbModuleStatus ipoib() {
  return {.name = "ib_ipoib",
          .setting = {.is_enabled = false, .options = "UplinkNum=4,6"},
          .in_effect = {.is_enabled = true, .options = "NetQueue=1"},
          .is_loaded = true,
          .summary = "2 uplinks",
          .problems = {"one", "two"},
          .warnings = {"three"}};
}

TEST(IbModuleJson, AStatusIsReadAsItWasWritten) {
  const auto read = ib_module_status_from_json(to_json(ipoib()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, ipoib());
  const json value = to_json(ipoib());
  EXPECT_EQ(value.at("enabled"), false);
  EXPECT_EQ(value.at("in_effect").at("options"), "NetQueue=1");
}

TEST(IbModuleJson, AnIncompleteStatusIsRefused) {
  for (const char* key : {"name", "enabled", "options", "in_effect"}) {
    json value = to_json(ipoib());
    value.erase(key);
    EXPECT_FALSE(ib_module_status_from_json(value)) << key;
  }
  json odd = to_json(ipoib());
  odd["problems"] = json::array({1});
  EXPECT_FALSE(ib_module_status_from_json(odd));
  odd = to_json(ipoib());
  odd["in_effect"] = json::object();
  EXPECT_FALSE(ib_module_status_from_json(odd));
}

TEST(IbModuleJson, AChangeHasWhatChanges) {
  EXPECT_EQ(*ib_module_change_from_json(json::object()), model::IbModuleChange());
  EXPECT_EQ(*ib_module_change_from_json({{"enabled", false}}),
            (model::IbModuleChange{.is_enabled = false}));
  const model::IbModuleChange both{.is_enabled = true, .options = ""};
  EXPECT_EQ(*ib_module_change_from_json(to_json(both)), both);
  EXPECT_FALSE(ib_module_change_from_json({{"enabled", "no"}}));
  EXPECT_FALSE(ib_module_change_from_json({{"options", 1}}));
  EXPECT_FALSE(ib_module_change_from_json({{"option", "x"}}));
}

TEST(IbModuleJson, AStoredSettingMayHaveMoreAndNotLess) {
  EXPECT_EQ(*kept_ib_module_setting_from_json({{"enabled", false}, {"options", "a"}, {"new", 1}}),
            (model::IbModuleSetting{.is_enabled = false, .options = "a"}));
  EXPECT_FALSE(kept_ib_module_setting_from_json({{"options", "a"}}));
  EXPECT_FALSE(kept_ib_module_setting_from_json({{"enabled", true}}));
}

}  // namespace
}  // namespace paravane::api
