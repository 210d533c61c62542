#include "model/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paravane::model {
namespace {

using testing::HasSubstr;

SrpTarget by_service() {
  return {.vmhba = "vmhba32",
          .address = "fe80::5054:ff:fe77:1",
          .service = 0x5254000000770001,
          .id_ext = 0x5254000000770001,
          .ioc_guid = 0x5254000000770001};
}

SrpTarget by_port() {
  return {.vmhba = "vmhba33", .address = "192.0.2.7", .port = 5555, .id_ext = 1, .ioc_guid = 2};
}

TEST(VmhbaName, CountsFromTheGuidesFirst) {
  for (const char* good : {"vmhba32", "vmhba47"}) EXPECT_TRUE(check_vmhba_name(good)) << good;
  for (const char* bad : {"", "vmhba", "vmhba31", "vmhba48", "vmhba032", "vmhba32 ", "vmhba-32",
                          "VMHBA32", "vmnic32", "vmhba4294967328", "vmhba99999999999999999999"}) {
    EXPECT_FALSE(check_vmhba_name(bad)) << bad;
  }
  EXPECT_THAT(check_vmhba_name("vmhba0").error().message, HasSubstr("vmhba32 to vmhba47"));
}

TEST(VmhbaSetting, MayBeNothingAGroupOrAnAddress) {
  EXPECT_TRUE(check_vmhba_setting({}));
  EXPECT_TRUE(check_vmhba_setting({.port_group = "storage"}));
  EXPECT_TRUE(check_vmhba_setting({.port_group = "storage", .ipv4 = "192.0.2.9/24"}));
  EXPECT_TRUE(check_vmhba_setting(
      {.port_group = "storage", .ipv4 = "192.0.2.9/24", .gateway = "192.0.2.1"}));
  EXPECT_TRUE(
      check_vmhba_setting({.port_group = "storage", .ipv4 = "10.0.0.1/30", .gateway = "10.0.0.2"}));
}

TEST(VmhbaSetting, HasAnAddressOfAHostInAPortGroup) {
  EXPECT_FALSE(check_vmhba_setting({.port_group = "S"}));
  EXPECT_THAT(check_vmhba_setting({.ipv4 = "192.0.2.9/24"}).error().message,
              HasSubstr("needs a port group"));
  for (const char* bad : {"192.0.2.9", "192.0.2.9/0", "192.0.2.9/31", "192.0.2.9/33",
                          "192.0.2.0/24", "192.0.2.255/24", "224.0.0.1/24", "127.0.0.1/8",
                          "0.0.0.1/8", "255.255.255.254/30", "fe80::1/64", "x"}) {
    EXPECT_FALSE(check_vmhba_setting({.port_group = "storage", .ipv4 = bad})) << bad;
  }
}

TEST(VmhbaSetting, HasAGatewayInTheNetworkOfItsAddress) {
  EXPECT_THAT(
      check_vmhba_setting({.port_group = "storage", .gateway = "192.0.2.1"}).error().message,
      HasSubstr("needs an IPv4 address"));
  for (const char* bad :
       {"192.0.3.1", "192.0.2.0", "192.0.2.255", "192.0.2.9", "192.0.2.1/24", "x", "224.0.0.1"}) {
    EXPECT_FALSE(
        check_vmhba_setting({.port_group = "storage", .ipv4 = "192.0.2.9/24", .gateway = bad}))
        << bad;
  }
}

TEST(SrpTarget, IsAGidWithAServiceOrAnAddressWithAPort) {
  EXPECT_TRUE(check_srp_target(by_service()));
  EXPECT_TRUE(check_srp_target(by_port()));
  SrpTarget both = by_service();
  both.port = 1;
  EXPECT_THAT(check_srp_target(both).error().message, HasSubstr("either a service ID"));
  SrpTarget neither = by_port();
  neither.port.reset();
  EXPECT_FALSE(check_srp_target(neither));
  for (const char* bad : {"", "192.0.2.7", "::ffff", "fe80::/64", "h1", "fe80::1%eth0"}) {
    SrpTarget target = by_service();
    target.address = bad;
    EXPECT_EQ(check_srp_target(target).has_value(), std::string(bad) == "::ffff") << bad;
  }
  for (const char* bad :
       {"", "fe80::1%eth0", "0.0.0.0", "127.0.0.1", "224.0.0.1", "h1", "192.0.2.7/24"}) {
    SrpTarget target = by_port();
    target.address = bad;
    EXPECT_FALSE(check_srp_target(target)) << bad;
  }
}

TEST(SrpTarget, HasIdentifiersThatAreNotZero) {
  for (const auto zero : {&SrpTarget::id_ext, &SrpTarget::ioc_guid}) {
    SrpTarget target = by_service();
    target.*zero = 0;
    EXPECT_THAT(check_srp_target(target).error().message, HasSubstr("must not be 0"));
  }
  SrpTarget target = by_service();
  target.service = 0;
  EXPECT_FALSE(check_srp_target(target));
  target = by_port();
  target.port = 0;
  EXPECT_FALSE(check_srp_target(target));
  target = by_port();
  target.vmhba = "vmhba1";
  EXPECT_FALSE(check_srp_target(target));
}

TEST(SrpTarget, IsDescribedByWhatTellsItFromOthers) {
  EXPECT_EQ(describe(by_service()),
            "vmhba32 to fe80::5054:ff:fe77:1, id_ext 0x5254000000770001, ioc_guid "
            "0x5254000000770001");
}

TEST(StorageStates, AreReadAsTheyAreWritten) {
  for (const TargetState state : {TargetState::kConnecting, TargetState::kLoggedIn,
                                  TargetState::kLost, TargetState::kRefused}) {
    EXPECT_EQ(parse_target_state(to_string(state)), state);
  }
  for (const PathState state : {PathState::kActive, PathState::kStandby, PathState::kDead}) {
    EXPECT_EQ(parse_path_state(to_string(state)), state);
  }
  EXPECT_EQ(to_string(TargetState::kLoggedIn), "logged in");
  EXPECT_EQ(parse_target_state("dead"), std::nullopt);
  EXPECT_EQ(parse_path_state(""), std::nullopt);
}

TEST(StorageNames, AreThoseOfEsxcliAndOfLio) {
  constexpr std::uint64_t kGuid = 0x0250560001a2b301;
  EXPECT_EQ(srp_adapter_identifier(kGuid), "srp.0250560001a2b301");
  EXPECT_EQ(srp_target_identifier(1, 2), "srp.0000000000000001:0000000000000002");
  EXPECT_EQ(lun_path_name("vmhba32", 1, 255), "vmhba32:C0:T1:L255");
  EXPECT_EQ(lun_socket("/run/paravane/vms", "naa.6001405"), "/run/paravane/vms/naa.6001405.lun");
}

TEST(DeviceName, CanBeAFileName) {
  for (const char* good : {"naa.60014051e7a0", "eui.0025385b71b00001", "t10.ATA_____disk-1.2",
                           "t10.LIO-ORG_disk:4711+1"}) {
    EXPECT_TRUE(check_device_name(good)) << good;
  }
  for (const std::string& bad : std::vector{
           std::string(), std::string("naa."), std::string("naa.a/b"), std::string("naa.../x"),
           std::string("/dev/sda"), std::string("iqn.a"), std::string("naa.a b"),
           "naa." + std::string(kMaxDeviceName - 3, '0'), std::string("naa.\0", 5)}) {
    EXPECT_FALSE(check_device_name(bad)) << bad;
  }
  EXPECT_TRUE(check_device_name("naa." + std::string(kMaxDeviceName - 4, '0')));
}

}  // namespace
}  // namespace paravane::model
