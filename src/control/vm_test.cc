#include "control/vm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paravane::control {
namespace {

using testing::HasSubstr;

VmSpec good_spec() {
  return {.name = "db1", .mac = {}, .version = 20, .doorbells = {}, .limits = {}};
}

TEST(VmName, TakesWhatItsRuleSays) {
  for (const std::string& name :
       {std::string("a"), std::string("0"), std::string("db-1.example_x"), std::string(63, 'z')}) {
    EXPECT_TRUE(check_name(name)) << name;
  }
}

TEST(VmName, RefusesWhatCouldBeAPathALineOrAnOption) {
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string("."), std::string(".."), std::string("_a"),
        std::string("a/b"), std::string("A"), std::string("a b"), std::string("a\n"),
        std::string("a\0b", 3), std::string("\xc3\xa4"), std::string(64, 'z')}) {
    EXPECT_FALSE(check_name(name)) << name;
  }
}

TEST(VmSpec, IsGoodByDefault) {
  EXPECT_TRUE(check_spec(good_spec()));
}

TEST(VmSpec, RefusesVersionsThatDoNotExist) {
  VmSpec spec = good_spec();
  for (const std::uint32_t version : {0u, 16u, 21u}) {
    spec.version = version;
    const Status checked = check_spec(spec);
    ASSERT_FALSE(checked) << version;
    EXPECT_THAT(checked.error().message, HasSubstr("17 to 20"));
  }
}

TEST(VmSpec, RefusesGroupAddresses) {
  VmSpec spec = good_spec();
  spec.mac = MacAddress{0x01, 0, 0, 0, 0, 1};
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("01:00:00:00:00:01"));
}

// Every limit at its ends, and one beyond.
TEST(VmLimits, HoldAtTheirEnds) {
  for (const LimitField& field : kLimitFields) {
    VmSpec spec = good_spec();
    spec.limits.*field.member = field.min;
    EXPECT_TRUE(check_spec(spec)) << field.name;
    spec.limits.*field.member = field.max;
    EXPECT_TRUE(check_spec(spec)) << field.name;
    spec.limits.*field.member = field.min - 1;
    EXPECT_THAT(check_spec(spec).error().message, HasSubstr(std::string(field.name)));
    spec.limits.*field.member = field.max + 1;
    EXPECT_THAT(check_spec(spec).error().message, HasSubstr(std::string(field.name)));
  }
}

TEST(VmLimits, MustBePowersOfTwoWhereTheGuestNeedsIt) {
  VmSpec spec = good_spec();
  spec.limits.contexts = 48;
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("power of two"));
}

TEST(VmWords, CanBeReadBack) {
  for (const VmState state :
       {VmState::kDetached, VmState::kAttached, VmState::kActive, VmState::kFailed}) {
    EXPECT_EQ(parse_vm_state(to_string(state)), state);
  }
  for (const Doorbells doorbells : {Doorbells::kMapped, Doorbells::kTrapped}) {
    EXPECT_EQ(parse_doorbells(to_string(doorbells)), doorbells);
  }
  EXPECT_FALSE(parse_vm_state("Active"));
  EXPECT_FALSE(parse_doorbells(""));
}

}  // namespace
}  // namespace paravane::control
