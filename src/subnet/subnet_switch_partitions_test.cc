// SubnetSwitch keeps partitions apart: what enters and what leaves its ports.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "subnet/subnet_switch_test.h"
#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
using fake::get_of;
using fake::smp_packet;

TEST_F(SubnetSwitchTest, APartitionIsKeptOutWhereItEnters) {
  enforce(1, true, false, {0x8001, 0x0002});
  for (const bool global : {false, true}) {
    const auto before = at(1).totals().receive_constraints;
    arrive(1, data_packet(kReachedLid, 0x8003, global));
    arrive(1, data_packet(kReachedLid, 0xFFFF, global));
    arrive(1, data_packet(kReachedLid, 0, global));
    EXPECT_TRUE(ways_taken().empty());
    EXPECT_EQ(at(1).totals().receive_constraints, before + 3);
    arrive(1,
           data_packet(kReachedLid, 0x0002, global));  // of a limited member: that behind the port
    arrive(1, data_packet(kReachedLid, 0x8001, global));
    arrive(1, data_packet(kReachedLid, 0x0001, global));
    arrive(1, data_packet(kReachedLid, 0x8002, global));
    EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2, 2, 2, 2}));
  }
  arrive(3, data_packet(kReachedLid, 0x8003));  // another port
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, APartitionIsKeptInWhereItWouldLeave) {
  enforce(2, false, true, {0x8001});
  set_group(0b0110);
  arrive(1, data_packet(kReachedLid, 0x8003));
  arrive(3, data_packet(kGroupLid, 0x8003));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{1}));
  EXPECT_EQ(at(2).totals().send_constraints, 2u);
  arrive(1, data_packet(kReachedLid, 0x8001));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, EnforcementDoesNotStopManagement) {
  enforce(1, true, true, {});
  enforce(2, true, true, {});
  arrive(1, smp_packet(get_of(attribute::kNodeInfo), kReachedLid, kManagerLid));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, RawPacketsDoNotPassEnforcement) {
  enforce(1, true, false, {0xFFFF});
  Packet raw = data_packet(kReachedLid);
  for (const std::uint8_t next : std::initializer_list<std::uint8_t>{0, 1}) {
    raw[1] = std::byte{next};
    arrive(1, raw);
  }
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(1).totals().receive_constraints, 2u);
  // One that ends before its partition is one that shows none.
  Packet cut = data_packet(kReachedLid, 0xFFFF, true);
  cut.resize(48);
  arrive(1, cut);
  EXPECT_TRUE(ways_taken().empty());
}

}  // namespace
}  // namespace paravane::subnet
