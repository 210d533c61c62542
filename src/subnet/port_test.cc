#include "subnet/port.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "subnet/port_test.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
using wire::infiniband::Mtu;
using wire::infiniband::PartitionBlock;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

// ---- As it is made ----

TEST_F(PortTest, IsMadeDownAndPolls) {
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
  EXPECT_EQ(port_.info().width_supported, 3);             // 1x and 4x
  EXPECT_EQ(port_.info().speed_supported_state >> 4, 3);  // 2.5 and 5
  EXPECT_EQ(port_.info().init_reply_mtu & 0x0F, 4);
  EXPECT_EQ(port_.mtu(), Mtu::k2048);
  EXPECT_EQ(port_.info().gid_prefix.get(), 0xFE80'0000'0000'0000);
  EXPECT_EQ(port_.info().guid_entries, 1);
  EXPECT_EQ(port_.partition(0), 0xFFFF);
  EXPECT_EQ(port_.lid(), 0);
  EXPECT_FALSE(port_.has_lid(0));
}

TEST_F(PortTest, ItsGidFollowsThePrefixOfTheSubnet) {
  const wire::infiniband::Gid made{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xAB, 0xCD};
  EXPECT_EQ(port_.gid(), made);
  EXPECT_EQ(set([](PortInfo& info) { info.gid_prefix.set(0xFEC0'0000'0000'0007); }), 0);
  const wire::infiniband::Gid moved{0xFE, 0xC0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0xAB, 0xCD};
  EXPECT_EQ(port_.gid(), moved);
}

TEST_F(PortTest, AnOuterPortOfASwitchHasNoIdentity) {
  EXPECT_EQ(outer_.info().guid_entries, 0);
  PortInfo wish;
  wish.lid.set(5);
  wish.management_key.set(7);
  wish.master_lid.set(0xC001);  // not read, so not refused
  wish.reregister_timeout = wire::infiniband::kRegisterAgainBit;
  EXPECT_EQ(outer_.set_info(wish), 0);
  EXPECT_EQ(outer_.lid(), 0);
  EXPECT_EQ(outer_.info().management_key.get(), 0u);
  EXPECT_TRUE(news_.empty());
}

// ---- What is taken ----

TEST_F(PortTest, IdentityIsTaken) {
  EXPECT_EQ(set([](PortInfo& info) {
              info.management_key.set(0x1122334455667788);
              info.gid_prefix.set(0xFEC0'0000'0000'0000);
              info.lid.set(9);
              info.master_lid.set(4);
              info.key_lease_s.set(60);
              info.protection_lmc = 0xFF & 0xF8;  // reserved bits are not taken
              info.mtu_master_level = (info.mtu_master_level & 0xF0) | 5;
              info.reregister_timeout = 0x7F;  // without the bit
              info.key_violations.set(3);
              info.init_reply_mtu |= 0xF0;
            }),
            0);
  EXPECT_EQ(port_.info().management_key.get(), 0x1122334455667788u);
  EXPECT_EQ(port_.info().gid_prefix.get(), 0xFEC0'0000'0000'0000);
  EXPECT_EQ(port_.lid(), 9);
  EXPECT_EQ(port_.info().master_lid.get(), 4);
  EXPECT_EQ(port_.info().key_lease_s.get(), 60);
  EXPECT_EQ(port_.info().protection_lmc, 0xC0);
  EXPECT_EQ(port_.info().mtu_master_level & 0x0F, 5);
  EXPECT_EQ(port_.info().reregister_timeout, 0x1F);
  EXPECT_EQ(port_.info().key_violations.get(), 3);
  EXPECT_EQ(port_.info().init_reply_mtu, 4);
  EXPECT_EQ(news_, (std::vector{PortNews::kChange}));  // of the LID
}

TEST_F(PortTest, WhatIsReadOnlyStays) {
  const PortInfo before = port_.info();
  EXPECT_EQ(set([](PortInfo& info) {
              info.capabilities.set(0xFFFF'FFFF);
              info.diagnosis.set(5);
              info.local_port = 9;
              info.width_supported = 0xFF;
              info.width_active = 8;
              info.speed_supported_state |= 0xF0;
              info.lanes_init_type = 0xFF;
              info.arbitration_high_entries = 9;
              info.guid_entries = 99;
              info.response_time = 1;
              info.credit_hint.set(9);
              info.more_capabilities.set(9);
            }),
            0);
  EXPECT_EQ(0, std::memcmp(&before, &port_.info(), sizeof before));
}

TEST_F(PortTest, LinkSettingsAreTakenAlsoAtASwitch) {
  for (Port* port : {&port_, &outer_}) {
    PortInfo wish = fake::wish_at(*port);
    wish.physical_state_default = 1;
    wish.lanes_enforcement = 0x1F;
    wish.lane_high_limit = 9;
    wish.stall_head_life = 0xE5;
    wish.error_limits = 0x13;
    EXPECT_EQ(port->set_info(wish), 0);
    EXPECT_EQ(port->info().physical_state_default & 0x0F, 1);
    EXPECT_TRUE(port->enforces_in());
    EXPECT_TRUE(port->enforces_out());
    EXPECT_EQ(port->info().lane_high_limit, 9);
    EXPECT_EQ(port->info().stall_head_life, 0xE5);
    EXPECT_EQ(port->info().error_limits, 0x13);
    wish.lanes_enforcement = 0x08;
    EXPECT_EQ(port->set_info(wish), 0);
    EXPECT_TRUE(port->enforces_in());
    EXPECT_FALSE(port->enforces_out());
    EXPECT_EQ(port->info().lanes_enforcement >> 4, 1);  // lanes that it has
  }
}

TEST_F(PortTest, AManagerMayHaveAllRegisterAgain) {
  EXPECT_EQ(set([](PortInfo& info) { info.reregister_timeout = 0x80 | 12; }), 0);
  EXPECT_EQ(news_, (std::vector{PortNews::kRegisterAgain}));
  EXPECT_EQ(port_.info().reregister_timeout, 12);  // the bit is an order, not a state
}

// ---- Partitions ----

TEST_F(PortTest, PartitionsAreSetByBlocks) {
  PartitionBlock keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].set(static_cast<std::uint16_t>(0x8001 + i));
  EXPECT_TRUE(port_.set_partitions(0, keys));
  EXPECT_TRUE(port_.set_partitions(1, keys));
  EXPECT_FALSE(port_.set_partitions(2, keys));
  EXPECT_FALSE(port_.set_partitions(std::size_t{1} << 16, keys));
  EXPECT_EQ(news_, (std::vector(2, PortNews::kChange)));
  PartitionBlock read;
  EXPECT_TRUE(port_.read_partitions(0, read));
  EXPECT_EQ(read, keys);
  EXPECT_TRUE(port_.read_partitions(1, read));
  EXPECT_EQ(read[7].get(), 0x8008);
  EXPECT_EQ(read[8].get(), 0);  // beyond its 40 entries
  EXPECT_FALSE(port_.read_partitions(2, read));
  EXPECT_EQ(port_.partition(39), 0x8008);
  EXPECT_EQ(port_.partition(40), 0);
  EXPECT_EQ(port_.partitions().size(), 40u);
}

TEST_F(PortTest, LetsPassWhatItsTableHas) {
  PartitionBlock keys;
  keys[3].set(0x8005);
  keys[4].set(0x0006);
  EXPECT_TRUE(port_.set_partitions(0, keys));
  EXPECT_TRUE(port_.lets_pass(0x8005));
  EXPECT_TRUE(port_.lets_pass(0x0005));
  EXPECT_TRUE(port_.lets_pass(0x8006));
  EXPECT_FALSE(port_.lets_pass(0x0006));  // both are limited members
  EXPECT_FALSE(port_.lets_pass(0xFFFF));
  EXPECT_FALSE(port_.lets_pass(0));
  EXPECT_FALSE(port_.lets_pass(0x8000));
  EXPECT_EQ(port_.partition_for(0x0005), 0x8005);
  EXPECT_EQ(port_.partition_for(0x8006), 0x0006);
  EXPECT_EQ(port_.partition_for(0x0006), 0);
}

// ---- What is counted ----

TEST_F(PortTest, ViolationsStayAtTheirGreatestValue) {
  for (unsigned i = 0; i < 0x1'0010; ++i) {
    port_.count_key_violation();
    port_.count_partition_violation();
    port_.count_qkey_violation();
  }
  EXPECT_EQ(port_.info().key_violations.get(), 0xFFFF);
  EXPECT_EQ(port_.info().partition_violations.get(), 0xFFFF);
  EXPECT_EQ(port_.info().qkey_violations.get(), 0xFFFF);
  EXPECT_EQ(set([](PortInfo& info) { info.qkey_violations.set(0); }), 0);
  EXPECT_EQ(port_.info().qkey_violations.get(), 0);
}

TEST_F(PortTest, TellsWhetherAManagerIsThere) {
  const std::uint32_t before = port_.capabilities();
  port_.set_manager(true);
  EXPECT_EQ(port_.capabilities(), before | wire::infiniband::capability::kIsManager);
  port_.set_manager(false);
  EXPECT_EQ(port_.capabilities(), before);
}

TEST_F(PortTest, ProtectionOfTheKeyEndsWithItsLease) {
  using namespace std::chrono_literals;
  constexpr Instant kBegin{1000s};
  const auto lease = [this](std::uint16_t seconds) {
    EXPECT_EQ(set([seconds](PortInfo& info) {
                info.management_key.set(7);
                info.key_lease_s.set(seconds);
                info.protection_lmc = 0x80 | 2;
              }),
              0);
  };
  lease(60);
  EXPECT_EQ(port_.next_deadline(), kNever);
  port_.heard_wrong_key();
  EXPECT_LE(port_.next_deadline(), kBegin);
  port_.on_time(kBegin);
  EXPECT_EQ(port_.next_deadline(), kBegin + 60s);
  // More of them do not make it longer.
  port_.heard_wrong_key();
  port_.on_time(kBegin + 30s);
  EXPECT_EQ(port_.next_deadline(), kBegin + 60s);
  port_.on_time(kBegin + 60s - 1ns);
  EXPECT_EQ(port_.info().protection_lmc, 0x82);
  port_.on_time(kBegin + 60s);
  EXPECT_EQ(port_.info().protection_lmc, 2);
  EXPECT_EQ(port_.next_deadline(), kNever);
  // A manager that is there keeps it.
  lease(60);
  port_.heard_wrong_key();
  port_.on_time(kBegin);
  port_.heard_right_key();
  port_.on_time(kBegin + 60s);
  EXPECT_EQ(port_.info().protection_lmc, 0x82);
  // 0: it does not end.
  lease(0);
  port_.heard_wrong_key();
  port_.on_time(kBegin);
  EXPECT_EQ(port_.next_deadline(), kNever);
}

}  // namespace
}  // namespace paravane::subnet
