#include "model/advanced_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace paravane::model {
namespace {

using testing::HasSubstr;

TEST(AdvancedSetting, StandardsAreValuesTheyMayHave) {
  for (const AdvancedSetting& setting : advanced_settings()) {
    EXPECT_TRUE(check_setting(setting, setting.standard)) << setting.path;
    EXPECT_EQ(find_setting(setting.path), &setting);
    EXPECT_FALSE(setting.description.empty()) << setting.path;
  }
  EXPECT_TRUE(std::ranges::is_sorted(advanced_settings(), {}, &AdvancedSetting::path));
  EXPECT_EQ(find_setting("/Net/Other"), nullptr);
}

TEST(AdvancedSetting, ANumberIsWithinItsBounds) {
  const AdvancedSetting& setting = *find_setting(kPvrdmaMaxAdapters);
  EXPECT_TRUE(check_setting(setting, "1"));
  EXPECT_TRUE(check_setting(setting, "8"));
  for (const char* text : {"", "0", "9", "-1", "1 ", "0x1", "99999999999999999999", "vmk0"}) {
    const Status good = check_setting(setting, text);
    ASSERT_FALSE(good) << text;
    EXPECT_THAT(good.error().message, HasSubstr("a number from 1 to 8"));
  }
}

TEST(AdvancedSetting, ATextIsShortAndPrintable) {
  const AdvancedSetting& setting = *find_setting(kPvrdmaVmknic);
  EXPECT_TRUE(check_setting(setting, "vmk1"));
  EXPECT_TRUE(check_setting(setting, std::string(64, 'a')));
  EXPECT_FALSE(check_setting(setting, std::string(65, 'a')));
  EXPECT_FALSE(check_setting(setting, "vmk 1"));
  EXPECT_FALSE(check_setting(setting, "vmk\n"));
}

TEST(AdvancedSetting, WhatNobodyHasSetIsStandard) {
  SettingValues values;
  EXPECT_EQ(setting_number(values, kPvrdmaMaxUdQueuePairs), 0);
  EXPECT_EQ(setting_number(values, kPvrdmaAtomics), 1);
  values[std::string(kPvrdmaMaxUdQueuePairs)] = "3";
  EXPECT_EQ(setting_number(values, kPvrdmaMaxUdQueuePairs), 3);
}

}  // namespace
}  // namespace paravane::model
