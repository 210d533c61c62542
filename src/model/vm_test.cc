#include "model/vm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace paravane::model {
namespace {

using testing::HasSubstr;

VmSpec good_spec() {
  VmSpec spec;
  spec.name = "db1";
  return spec;
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

TEST(VmName, SuggestsTheNearestGoodOne) {
  EXPECT_EQ(nearest_good_name("My VM"), "my-vm");
  EXPECT_EQ(nearest_good_name("VM1"), "vm1");
  EXPECT_EQ(nearest_good_name("  db (old) "), "db-old");
  EXPECT_EQ(nearest_good_name("-a"), "a");
  EXPECT_EQ(nearest_good_name("../"), "");
  EXPECT_EQ(nearest_good_name(std::string(64, 'Z')), std::string(63, 'z'));
  EXPECT_TRUE(check_name("My VM").error().message.ends_with("; how about my-vm?"));
  EXPECT_TRUE(check_name("").error().message.ends_with("a letter or a digit"));
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
  spec.adapters[0].mac = MacAddress{0x01, 0, 0, 0, 0, 1};
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("01:00:00:00:00:01"));
}

TEST(VmSpec, RefusesVersionsThatContradict) {
  VmSpec spec = good_spec();
  spec.hw_version = 13;
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("hardware version 13"));
  spec.version = 17;
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("RoCE v1 only"));
  spec.adapters[0].protocol = Protocol::kRoceV1;
  EXPECT_TRUE(check_spec(spec));
}

TEST(VmSpec, HoldsOneToEightAdapters) {
  VmSpec spec = good_spec();
  for (std::uint32_t number = 2; number <= 8; ++number) {
    spec.adapters.push_back({.number = number});
    EXPECT_TRUE(check_spec(spec)) << number;
  }
  spec.adapters.push_back({.number = 9});
  EXPECT_FALSE(check_spec(spec));
  spec.adapters.clear();
  EXPECT_FALSE(check_spec(spec));
}

TEST(VmSpec, RefusesAdaptersOutOfOrderOrWithOneAddress) {
  VmSpec spec = good_spec();
  for (const auto& [first, second] : {std::pair(2u, 3u), std::pair(1u, 1u), std::pair(1u, 9u),
                                      std::pair(1u, 0u), std::pair(2u, 1u)}) {
    spec.adapters = {{.number = first}, {.number = second}};
    EXPECT_FALSE(check_spec(spec)) << first << " " << second;
  }
  spec.adapters = {{.number = 1, .mac = MacAddress{2}}, {.number = 3, .mac = MacAddress{2}}};
  EXPECT_THAT(check_spec(spec).error().message, HasSubstr("belongs to two adapters"));
  spec.adapters[1].mac = MacAddress{4};
  EXPECT_TRUE(check_spec(spec));
}

TEST(VmWords, NameEachSocket) {
  EXPECT_EQ(socket_file("db1", 1), "db1.sock");
  EXPECT_EQ(socket_file("db1", 2), "db1.2.sock");
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
  for (const VmState state : {VmState::kDetached, VmState::kAttached, VmState::kActive,
                              VmState::kFailed, VmState::kDead, VmState::kLost}) {
    EXPECT_EQ(parse_vm_state(to_string(state)), state);
  }
  for (const Doorbells doorbells : {Doorbells::kMapped, Doorbells::kTrapped}) {
    EXPECT_EQ(parse_doorbells(to_string(doorbells)), doorbells);
  }
  EXPECT_FALSE(parse_vm_state("Active"));
  EXPECT_FALSE(parse_doorbells(""));
}

}  // namespace
}  // namespace paravane::model
