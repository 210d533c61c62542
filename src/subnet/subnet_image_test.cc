#include "subnet/subnet_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "subnet/subnet_image_test.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace trap = wire::infiniband::trap;
using fake::SubnetRig;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

TEST_F(SubnetImageTest, ASubnetGoesOnAsItWasAndNothingIsToldOfIt) {
  const SubnetImage image = rig_.subnet.image();
  EXPECT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_EQ(heir_.state("first"), PortState::kActive);
  EXPECT_EQ(heir_.state("second"), PortState::kActive);
  EXPECT_EQ(heir_.subnet.find("second")->port(1)->lid(), rig_.second_lid());
  const Forwarding& tables = heir_.subnet.the_switch().tables();
  EXPECT_EQ(tables.way_to(rig_.second_lid()), 2);
  EXPECT_EQ(tables.ways_to(kImageGroupLid)[0], 0b110u);
  // Also after turns, in which links are judged.
  EXPECT_EQ(bytes_of(heir_.subnet.image()), bytes_without_managers(image));
}

TEST_F(SubnetImageTest, EachValueOfAPortGoesOn) {
  Port& port = *rig_.first.port(1);
  PortInfo wish = fake::wish_at(port);
  wish.gid_prefix.set(0xFE80'0000'0000'0077);
  wish.master_lid.set(0x33);
  wish.key_lease_s.set(60);
  wish.protection_lmc = 0x82;
  wish.lid.set(0x44);
  wish.mtu_master_level = 0x43;
  wish.lanes_enforcement = 0x1C;
  wish.lane_high_limit = 9;
  wish.stall_head_life = 0x5A;
  wish.error_limits = 0x21;
  wish.reregister_timeout = 0x0B;
  wish.width_enabled = 1;
  ASSERT_EQ(port.set_info(wish), 0);
  port.set_partitions(1, {Be16(0xFFFF), Be16(0x800A)});
  port.count_key_violation();
  port.count_partition_violation();
  port.count_qkey_violation();
  port.totals() = {.sent_bytes = 1,
                   .received_bytes = 2,
                   .sent_unicast = 3,
                   .received_unicast = 4,
                   .sent_multicast = 5,
                   .received_multicast = 6,
                   .receive_errors = 7,
                   .relay_errors = 8,
                   .send_discards = 9,
                   .send_constraints = 10,
                   .receive_constraints = 11,
                   .management_dropped = 12,
                   .link_downed = 13};
  port.heard_wrong_key();
  port.on_time(rig_.clock.now);
  ASSERT_THAT(heir_.adopt(rig_.subnet.image(), wishes()), IsEmpty());
  const Port& next = *heir_.subnet.find("first")->port(1);
  EXPECT_EQ(next.info().gid_prefix.get(), 0xFE80'0000'0000'0077u);
  EXPECT_EQ(next.info().management_key.get(), kManagementKey);
  EXPECT_EQ(next.info().master_lid.get(), 0x33);
  EXPECT_EQ(next.info().protection_lmc, 0x82);
  EXPECT_EQ(next.lids(), 4);
  EXPECT_EQ(next.info().mtu_master_level, 0x43);
  EXPECT_EQ(next.info().lanes_enforcement, 0x1C);
  EXPECT_EQ(next.info().lane_high_limit, 9);
  EXPECT_EQ(next.info().stall_head_life, 0x5A);
  EXPECT_EQ(next.info().error_limits, 0x21);
  EXPECT_EQ(next.info().reregister_timeout, 0x0B);
  EXPECT_EQ(next.info().width_enabled, 1);
  EXPECT_EQ(next.info().qkey_violations.get(), 1);
  EXPECT_EQ(next.partition(33), 0x800A);
  EXPECT_EQ(next.totals().sent_bytes, 1u);
  EXPECT_EQ(next.totals().link_downed, 13u);
  EXPECT_EQ(next.next_deadline(), rig_.clock.now + 60s);
  EXPECT_EQ(bytes_of(heir_.subnet.image()), bytes_without_managers(rig_.subnet.image()));
}

TEST_F(SubnetImageTest, WhetherAManagerIsThereItsProgramSaysAnew) {
  rig_.second.mads(1).set_manager(true);
  const SubnetImage image = sent(rig_.subnet.image());
  ASSERT_EQ(image.adapters.size(), 2u);
  EXPECT_NE(image.adapters[1].ports[0].port.info.capabilities.get() &
                wire::infiniband::capability::kIsManager,
            0u);
  ASSERT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  const std::uint32_t capabilities = heir_.subnet.find("second")->port(1)->capabilities();
  EXPECT_EQ(capabilities & wire::infiniband::capability::kIsManager, 0u);
}

TEST_F(SubnetImageTest, AdaptersKeepTheirPortsOfTheSwitch) {
  rig_.subnet.add("a", {.name = "Test", .ports = 2}, 0x500);  // at ports 3 and 4
  rig_.settle();
  auto all = wishes();
  all.push_back({.name = "a", .model = {.name = "Test", .ports = 2}, .guid = 0x500});
  std::ranges::reverse(all);
  ASSERT_THAT(heir_.adopt(rig_.subnet.image(), all), IsEmpty());
  std::vector<std::string> peers;
  for (const Subnet::Linked& link : heir_.subnet.links()) peers.push_back(link.peer);
  EXPECT_THAT(peers, ElementsAre("first port 1", "second port 1", "a port 1", "a port 2"));
}

TEST_F(SubnetImageTest, AnAdapterThatWasNotThereBeginsAnewAlone) {
  auto all = wishes();
  all.push_back(wish("third", 0x700));
  EXPECT_THAT(heir_.adopt(rig_.subnet.image(), all), ElementsAre("third was not there"));
  EXPECT_EQ(heir_.subnet.find("third"), nullptr);
  EXPECT_FALSE(has_port_changed(heir_.subnet));
  heir_.subnet.add("third", {.name = "Test"}, 0x700);
  heir_.settle();
  EXPECT_EQ(heir_.state("third"), PortState::kInitialize);
  EXPECT_EQ(heir_.state("first"), PortState::kActive);
  EXPECT_TRUE(has_port_changed(heir_.subnet));
}

TEST_F(SubnetImageTest, AnAdapterThatIsGoneIsToldOf) {
  EXPECT_THAT(heir_.adopt(rig_.subnet.image(), {wishes()[0]}), IsEmpty());
  EXPECT_EQ(heir_.state("first"), PortState::kActive);
  EXPECT_EQ(heir_.switch_state(2), PortState::kDown);
  EXPECT_TRUE(has_port_changed(heir_.subnet));
  const SubnetImage next = heir_.subnet.image();
  ASSERT_EQ(next.the_switch.notices.waiting.size(), 1u);
  EXPECT_EQ(next.the_switch.notices.waiting[0].notice.trap.get(), trap::kLinkStateChanged);
}

TEST_F(SubnetImageTest, AnotherAdapterOfThatNameBeginsAnewAlone) {
  const auto expect_anew = [&](const Subnet::AdapterWish& second) {
    Heir heir(rig_.clock);
    EXPECT_THAT(heir.adopt(rig_.subnet.image(), {wishes()[0], second}),
                ElementsAre("second is another, or cannot be so"));
    EXPECT_EQ(heir.subnet.find("second"), nullptr);
    EXPECT_EQ(heir.state("first"), PortState::kActive);
    EXPECT_EQ(heir.switch_state(2), PortState::kDown);
  };
  expect_anew(wish("second", SubnetRig::kSecondGuid + 0x10));
  expect_anew({.name = "second",
               .model = {.name = "Test", .device_id = 5},
               .guid = SubnetRig::kSecondGuid});
  expect_anew(
      {.name = "second", .model = {.name = "Test", .ports = 2}, .guid = SubnetRig::kSecondGuid});
  expect_anew({.name = "second",
               .model = {.name = "Test", .partitions = 64},
               .guid = SubnetRig::kSecondGuid});
}

TEST_F(SubnetImageTest, WithAnotherSwitchAllBeginsAnew) {
  Heir heir(rig_.clock, SubnetRig::kSwitchGuid + 1);
  EXPECT_THAT(heir.adopt(rig_.subnet.image(), wishes()),
              ElementsAre("the switch is another, or cannot be so"));
  EXPECT_THAT(heir.subnet.adapters(), IsEmpty());
  EXPECT_EQ(heir.subnet.the_switch().port(0)->lid(), 0);
}

TEST_F(SubnetImageTest, ALinkWithOneEndUpIsTrainedAnew) {
  SubnetImage image = rig_.subnet.image();
  PortInfo& other = image.the_switch.ports[2].info;
  other.speed_supported_state = both(PortState::kDown, other.speed_supported_state);
  other.physical_state_default = both(PhysicalState::kPolling, other.physical_state_default);
  EXPECT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_EQ(heir_.state("second"), PortState::kInitialize);
  EXPECT_EQ(heir_.switch_state(2), PortState::kInitialize);
  EXPECT_EQ(heir_.state("first"), PortState::kActive);
}

TEST_F(SubnetImageTest, ADisabledPortStaysSo) {
  PortInfo wish = fake::wish_at(*rig_.subnet.the_switch().port(2));
  wish.physical_state_default = both(PhysicalState::kDisabled, wish.physical_state_default);
  ASSERT_EQ(rig_.subnet.the_switch().port(2)->set_info(wish), 0);
  rig_.settle();
  const SubnetImage image = rig_.subnet.image();
  EXPECT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_EQ(heir_.state("second"), PortState::kDown);
  EXPECT_TRUE(heir_.subnet.the_switch().port(2)->is_disabled());
  EXPECT_EQ(bytes_of(heir_.subnet.image()), bytes_without_managers(image));
}

}  // namespace
}  // namespace paravane::subnet
