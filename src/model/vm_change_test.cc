#include "model/vm_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paravane::model {
namespace {

using testing::HasSubstr;

VmSpec vm_of(std::uint32_t hw_version, std::vector<Protocol> protocols) {
  VmSpec vm;
  vm.name = "db1";
  vm.hw_version = hw_version;
  vm.version = default_device_version(hw_version);
  vm.adapters.clear();
  for (const Protocol protocol : protocols) {
    vm.adapters.push_back({.number = static_cast<std::uint32_t>(vm.adapters.size()) + 1,
                           .mac = mac_for_name("db1", static_cast<unsigned>(vm.adapters.size())),
                           .protocol = protocol});
  }
  return vm;
}

const LimitField* field(std::string_view name) {
  for (const LimitField& one : kLimitFields) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

using enum Protocol;

TEST(VmChange, OfTheMachineLeavesTheAdapters) {
  const VmSpec vm = vm_of(13, {kRoceV1});
  const VmChange change{.machine = {.cpus = 4}};
  EXPECT_TRUE(check_change(change));
  EXPECT_FALSE(only_moves({.port_group = "lan", .machine = {.cpus = 4}}));
  VmSpec expected = vm;
  expected.machine.cpus = 4;
  EXPECT_EQ(apply(change, vm), expected);
  const auto refused = apply({.machine = {.kernel = "here"}}, vm);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ApiErrorCode::kInvalidRequest);
}

TEST(VmChange, UpgradeKeepsRoceV1) {
  const auto changed = apply({.hw_version = 14}, vm_of(13, {kRoceV1, kRoceV1}));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->hw_version, 14u);
  EXPECT_EQ(changed->version, 20u);
  for (const AdapterSpec& adapter : changed->adapters) EXPECT_EQ(adapter.protocol, kRoceV1);
}

TEST(VmChange, UpgradeTakesRoceV2InTheSameCommand) {
  const auto changed = apply({.hw_version = 21, .protocol = kRoceV2}, vm_of(13, {kRoceV1}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->adapters[0].protocol, kRoceV2);
}

TEST(VmChange, DowngradeOfRoceV2IsRefusedUnlessTheProtocolGoesWithIt) {
  const VmSpec vm = vm_of(21, {kRoceV1, kRoceV2});
  const auto refused = apply({.hw_version = 13}, vm);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ApiErrorCode::kInvalidRequest);
  EXPECT_THAT(refused.error().message, HasSubstr("adapter 2 cannot use RoCE v2"));
  EXPECT_THAT(refused.error().remedy, HasSubstr("v1"));
  EXPECT_FALSE(apply({.hw_version = 13, .protocol = kRoceV1, .adapter = 1}, vm));
  const auto changed = apply({.hw_version = 13, .protocol = kRoceV1}, vm);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->version, 17u);
  EXPECT_EQ(changed->adapters[1].protocol, kRoceV1);
}

TEST(VmChange, RoceV2NeedsALaterHardwareVersion) {
  const auto refused = apply({.protocol = kRoceV2}, vm_of(13, {kRoceV1}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().remedy, HasSubstr("hardware version to 14"));
}

TEST(VmChange, KeepsTheDeviceVersionThatAnExpertChose) {
  VmSpec vm = vm_of(15, {kRoceV2});
  vm.version = 18;
  EXPECT_EQ(apply({.hw_version = 20}, vm)->version, 18u);
}

TEST(VmChange, IsOnlyForTheRevisionItNames) {
  const VmSpec vm = vm_of(14, {kRoceV2});
  const auto first = apply({.hw_version = 15, .revision = "one"}, vm, "one");
  ASSERT_TRUE(first);
  const auto second = apply({.hw_version = 16, .revision = "one"}, *first, "two");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ApiErrorCode::kChanged);
  EXPECT_TRUE(apply({.hw_version = 16}, *first, "two"));
}

TEST(VmChange, TouchesOneAdapterIfOneIsNamed) {
  const auto changed =
      apply({.protocol = kRoceV1, .adapter = 2}, vm_of(21, {kRoceV2, kRoceV2, kRoceV2}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->adapters[0].protocol, kRoceV2);
  EXPECT_EQ(changed->adapters[1].protocol, kRoceV1);
  EXPECT_EQ(changed->adapters[2].protocol, kRoceV2);
  const auto unknown = apply({.protocol = kRoceV1, .adapter = 4}, *changed);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ApiErrorCode::kNotFound);
}

TEST(VmChange, SetsAndRemovesLimits) {
  VmSpec vm = vm_of(21, {kRoceV2});
  vm.limits.gids = 16;
  vm.limits.sges = 8;
  const auto changed = apply({.limits = {{.field = field("gids"), .value = {}},
                                         {.field = field("contexts"), .value = 64}}},
                             vm);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->limits.gids);
  EXPECT_EQ(changed->limits.contexts, 64u);
  EXPECT_EQ(changed->limits.sges, 8u);
}

TEST(VmChange, IsRefusedForWhatNoVmCanBe) {
  const LimitField* gids = field("gids");
  for (const VmChange& change : {
           VmChange{},
           VmChange{.adapter = 1},
           VmChange{.hw_version = 12},
           VmChange{.hw_version = 22},
           VmChange{.hw_version = 13, .protocol = kRoceV2},
           VmChange{.limits = {{.field = gids, .value = 257}}},
           VmChange{.limits = {{.field = gids, .value = 0}}},
           VmChange{.limits = {{.field = field("contexts"), .value = 48}}},
           VmChange{.limits = {{.field = gids, .value = 8}, {.field = gids, .value = 9}}},
       }) {
    EXPECT_FALSE(check_change(change));
  }
}

TEST(NextAdapter, HasTheLowestFreeNumberAndTheVersionsProtocol) {
  VmSpec vm = vm_of(21, {kRoceV2, kRoceV2, kRoceV2});
  erase_adapter(2, vm);
  const auto adapter = next_adapter({}, vm);
  ASSERT_TRUE(adapter);
  EXPECT_EQ(adapter->number, 2u);
  EXPECT_EQ(adapter->protocol, kRoceV2);
  insert_adapter(*adapter, vm);
  EXPECT_TRUE(check_spec(vm));
  EXPECT_EQ(next_adapter({}, vm_of(13, {kRoceV1}))->protocol, kRoceV1);
}

TEST(NextAdapter, NinthIsRefused) {
  VmSpec vm = vm_of(21, {kRoceV2});
  for (int i = 0; i < 7; ++i) insert_adapter(*next_adapter({}, vm), vm);
  const auto ninth = next_adapter({}, vm);
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().code, ApiErrorCode::kLimitReached);
  EXPECT_THAT(ninth.error().message, HasSubstr("8 adapters"));
}

TEST(NextAdapter, CannotBeWhatItsVmCannot) {
  EXPECT_FALSE(next_adapter({.mac = {}, .protocol = kRoceV2}, vm_of(13, {kRoceV1})));
  EXPECT_FALSE(next_adapter({.mac = MacAddress{1}, .protocol = {}}, vm_of(21, {kRoceV2})));
}

}  // namespace
}  // namespace paravane::model
