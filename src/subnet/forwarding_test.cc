#include "subnet/forwarding.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace paravane::subnet {
namespace {

using wire::infiniband::kNoPort;
using wire::infiniband::LinearBlock;
using wire::infiniband::MulticastBlock;
using wire::infiniband::SwitchInfo;

constexpr PortNumber kTablePorts = 40;

class ForwardingTest : public testing::Test {
 protected:
  void set_top(std::uint16_t top) {
    SwitchInfo wish = tables_.info();
    wish.linear_top.set(top);
    EXPECT_TRUE(tables_.set_info(wish));
  }
  void set_way(std::uint16_t lid, std::uint8_t port) {
    LinearBlock block;
    EXPECT_TRUE(tables_.read_linear(lid / block.size(), block));
    block[lid % block.size()] = port;
    EXPECT_TRUE(tables_.set_linear(lid / block.size(), block));
  }
  bool reaches(std::uint16_t lid, unsigned port) const {
    return (tables_.ways_to(lid)[port / 64] >> (port % 64) & 1) != 0;
  }

  Forwarding tables_{kTablePorts};
};

// ---- What is told about them ----

TEST_F(ForwardingTest, TellsItsCapacity) {
  EXPECT_EQ(tables_.info().linear_entries.get(), 0xC000);
  EXPECT_EQ(tables_.info().random_entries.get(), 0);
  EXPECT_EQ(tables_.info().multicast_entries.get(), 1024);
  EXPECT_EQ(tables_.info().default_port, kNoPort);
  EXPECT_EQ(tables_.info().abilities & 0xC0, 0xC0);
}

TEST_F(ForwardingTest, OnlyWhatAManagerMaySetIsTaken) {
  SwitchInfo wish;
  wish.linear_entries.set(1);
  wish.random_entries.set(1);
  wish.multicast_entries.set(1);
  wish.linear_top.set(0xBFFF);
  wish.default_port = 3;
  wish.life_change = (5 << 3) | 3;
  wish.lids_per_port.set(9);
  wish.enforced_partitions.set(9);
  wish.abilities = 0;
  wish.multicast_top.set(0xC0FF);
  EXPECT_TRUE(tables_.set_info(wish));
  EXPECT_EQ(tables_.info().linear_entries.get(), 0xC000);
  EXPECT_EQ(tables_.info().random_entries.get(), 0);
  EXPECT_EQ(tables_.info().multicast_entries.get(), 1024);
  EXPECT_EQ(tables_.info().linear_top.get(), 0xBFFF);
  EXPECT_EQ(tables_.info().default_port, 3);
  EXPECT_EQ(tables_.info().life_change, 5 << 3);
  EXPECT_EQ(tables_.info().lids_per_port.get(), 0);
  EXPECT_EQ(tables_.info().enforced_partitions.get(), 32);
  EXPECT_EQ(tables_.info().abilities & 0xC0, 0xC0);
}

TEST_F(ForwardingTest, ATopBeyondTheTableIsRefused) {
  set_top(5);
  SwitchInfo wish = tables_.info();
  for (const std::uint16_t top : std::initializer_list<std::uint16_t>{0xC000, 0xFFFF}) {
    wish.linear_top.set(top);
    EXPECT_FALSE(tables_.set_info(wish));
    EXPECT_EQ(tables_.info().linear_top.get(), 5);
  }
}

TEST_F(ForwardingTest, AChangeStaysUntilAManagerClearsIt) {
  tables_.mark_port_change();
  SwitchInfo wish = tables_.info();
  EXPECT_NE(wish.life_change & wire::infiniband::kPortStateChanged, 0);
  wish.life_change = 4 << 3;
  EXPECT_TRUE(tables_.set_info(wish));
  EXPECT_EQ(tables_.info().life_change, (4 << 3) | wire::infiniband::kPortStateChanged);
  wish.life_change |= wire::infiniband::kPortStateChanged;
  EXPECT_TRUE(tables_.set_info(wish));
  EXPECT_EQ(tables_.info().life_change, 4 << 3);
}

// ---- Unicast ----

TEST_F(ForwardingTest, ABlockThatWasNotSetHasNoWays) {
  LinearBlock block{};
  EXPECT_TRUE(tables_.read_linear(5, block));
  for (const std::uint8_t port : block) EXPECT_EQ(port, kNoPort);
  EXPECT_EQ(tables_.way_to(1), kNoPort);
}

TEST_F(ForwardingTest, BlocksBeyondTheTableAreRefused) {
  LinearBlock block{};
  EXPECT_TRUE(tables_.set_linear(0xC000 / 64 - 1, block));
  EXPECT_TRUE(tables_.read_linear(0xC000 / 64 - 1, block));
  for (const std::size_t number :
       {std::size_t{0xC000 / 64}, std::size_t{0xFFFF}, std::size_t{0xFFFF'FFFF}}) {
    EXPECT_FALSE(tables_.set_linear(number, block));
    EXPECT_FALSE(tables_.read_linear(number, block));
  }
}

TEST_F(ForwardingTest, ALidLeadsWhereItsEntrySays) {
  set_top(0xBFFF);
  set_way(1, 7);
  set_way(64, 8);
  set_way(0xBFFF, kTablePorts);
  EXPECT_EQ(tables_.way_to(1), 7);
  EXPECT_EQ(tables_.way_to(2), kNoPort);
  EXPECT_EQ(tables_.way_to(64), 8);
  EXPECT_EQ(tables_.way_to(0xBFFF), kTablePorts);
  set_way(1, 9);
  EXPECT_EQ(tables_.way_to(1), 9);
}

TEST_F(ForwardingTest, ALidAboveTheTopHasNoWay) {
  set_way(9, 3);
  set_way(10, 3);
  set_top(9);
  EXPECT_EQ(tables_.way_to(9), 3);
  EXPECT_EQ(tables_.way_to(10), kNoPort);
  set_top(8);
  EXPECT_EQ(tables_.way_to(9), kNoPort);
}

TEST_F(ForwardingTest, ALidBeyondTheBlocksThatWereSetHasNoWay) {
  set_top(0xBFFF);
  set_way(9, 3);
  for (const std::uint16_t lid :
       std::initializer_list<std::uint16_t>{64, 65, 0xBFFF, 0xC000, 0xFFFF})
    EXPECT_EQ(tables_.way_to(lid), kNoPort) << lid;
}

TEST_F(ForwardingTest, AnEntryThatNamesNoPortOfTheSwitchIsNoWay) {
  set_top(100);
  for (unsigned port = kTablePorts + 1; port < 256; ++port) {
    set_way(9, static_cast<std::uint8_t>(port));
    ASSERT_EQ(tables_.way_to(9), kNoPort) << port;
  }
}

// ---- Multicast ----

TEST_F(ForwardingTest, AGroupHasNoWaysAtFirst) {
  EXPECT_EQ(tables_.ways_to(0xC000), PortMask{});
  EXPECT_EQ(tables_.ways_to(0xFFFE), PortMask{});
  MulticastBlock block;
  EXPECT_TRUE(tables_.read_multicast(31, 2, block));
  EXPECT_EQ(block, MulticastBlock{});
}

TEST_F(ForwardingTest, MasksAreSetSixteenPortsAtATime) {
  MulticastBlock first;
  first[5].set(0x8002);
  MulticastBlock third;
  third[5].set(0x0101);
  EXPECT_TRUE(tables_.set_multicast(1, 0, first));
  EXPECT_TRUE(tables_.set_multicast(1, 2, third));
  const std::uint16_t lid = 0xC000 + 32 + 5;
  EXPECT_TRUE(reaches(lid, 1));
  EXPECT_TRUE(reaches(lid, 15));
  EXPECT_TRUE(reaches(lid, 32));
  EXPECT_TRUE(reaches(lid, 40));
  EXPECT_FALSE(reaches(lid, 2));
  EXPECT_FALSE(reaches(lid, 16));
  EXPECT_EQ(tables_.ways_to(lid + 1), PortMask{});
  MulticastBlock read;
  EXPECT_TRUE(tables_.read_multicast(1, 0, read));
  EXPECT_EQ(read, first);
  EXPECT_TRUE(tables_.read_multicast(1, 1, read));
  EXPECT_EQ(read, MulticastBlock{});
  EXPECT_TRUE(tables_.read_multicast(1, 2, read));
  EXPECT_EQ(read, third);
  EXPECT_TRUE(tables_.set_multicast(1, 0, MulticastBlock{}));
  EXPECT_FALSE(reaches(lid, 1));
  EXPECT_TRUE(reaches(lid, 32));
}

TEST_F(ForwardingTest, MulticastBlocksAndPositionsBeyondTheTableAreRefused) {
  MulticastBlock block;
  EXPECT_TRUE(tables_.set_multicast(31, 2, block));
  EXPECT_FALSE(tables_.set_multicast(32, 0, block));
  EXPECT_FALSE(tables_.set_multicast(0x1FF, 0, block));
  EXPECT_FALSE(tables_.read_multicast(32, 0, block));
  for (std::size_t position = 3; position < 16; ++position) {
    EXPECT_FALSE(tables_.set_multicast(0, position, block));
    EXPECT_FALSE(tables_.read_multicast(0, position, block));
  }
}

TEST_F(ForwardingTest, ASwitchOfMostPortsHasAllItsPositions) {
  Forwarding most{kMostSwitchPorts - 1};
  MulticastBlock block;
  block[0].set(0x7FFF);
  EXPECT_TRUE(most.set_multicast(0, 7, block));
  EXPECT_EQ(most.ways_to(0xC000)[1] >> 48, 0x7FFFu);
  EXPECT_FALSE(most.set_multicast(0, 8, block));
  EXPECT_FALSE(most.set_multicast(0, 15, block));
}

TEST_F(ForwardingTest, AMulticastLidBeyondTheTableHasNoWays) {
  MulticastBlock all;
  for (Be16& mask : all) mask.set(0xFFFF);
  EXPECT_TRUE(tables_.set_multicast(31, 0, all));
  EXPECT_NE(tables_.ways_to(0xC000 + 1023), PortMask{});
  EXPECT_EQ(tables_.ways_to(0xC000 + 1024), PortMask{});
  EXPECT_EQ(tables_.ways_to(1), PortMask{});  // none at all of a unicast LID
}

}  // namespace
}  // namespace paravane::subnet
