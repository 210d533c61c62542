#include "subnet/port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace paravane::subnet {
namespace {

namespace mad_status = wire::infiniband::mad_status;
using wire::infiniband::Mtu;
using wire::infiniband::PartitionBlock;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

enum class PortNews : std::uint8_t { kChange, kRegisterAgain, kOrder };

class PortTest : public testing::Test, private Port::Listener {
 protected:
  // As a manager does it: what was read, changed in some places.
  PortInfo wish_with(const std::function<void(PortInfo&)>& change) const {
    PortInfo wish = port_.info();
    wish.speed_supported_state &= 0xF0;
    wish.physical_state_default &= 0x0F;
    change(wish);
    return wish;
  }
  std::uint16_t set(const std::function<void(PortInfo&)>& change) {
    return port_.set_info(wish_with(change));
  }
  std::uint16_t order(PortState state) {
    return set([state](PortInfo& info) {
      info.speed_supported_state |= static_cast<std::uint8_t>(state);
    });
  }
  std::uint16_t order(PhysicalState state) {
    return set([state](PortInfo& info) {
      info.physical_state_default |= static_cast<std::uint8_t>(static_cast<unsigned>(state) << 4);
    });
  }
  // Refused, and nothing is another than before.
  void expect_refused(const std::function<void(PortInfo&)>& change) {
    const PortInfo before = port_.info();
    news_.clear();
    EXPECT_EQ(set([&change](PortInfo& info) {
                info.lid.set(77);  // which would be good
                change(info);
              }),
              mad_status::kBadField);
    EXPECT_EQ(0, std::memcmp(&before, &port_.info(), sizeof before));
    EXPECT_TRUE(news_.empty());
  }
  void bring_to(PortState state) {
    port_.link_up(Speed::kQuad);
    if (state == PortState::kInitialize) return;
    EXPECT_EQ(order(PortState::kArmed), 0);
    if (state == PortState::kArmed) return;
    EXPECT_EQ(order(PortState::kActive), 0);
  }

  void on_port_change(PortNumber /*port*/) override { news_.push_back(PortNews::kChange); }
  void on_register_again(PortNumber /*port*/) override {
    news_.push_back(PortNews::kRegisterAgain);
  }
  void on_link_order(PortNumber /*port*/) override { news_.push_back(PortNews::kOrder); }

  std::vector<PortNews> news_;
  Port port_{
      1, {.speed = Speed::kDouble, .mtu = Mtu::k2048, .partitions = 40, .guid = 0xABCD}, *this};
  Port outer_{3, {.partitions = 40, .has_lid = false}, *this};  // of a switch
  Port own_{0, {.partitions = 40, .guid = 0xABCE}, *this};
};

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

// ---- What cannot be ----

TEST_F(PortTest, StatesAreTakenInTheirOrder) {
  const PortState all[] = {PortState::kNoChange, PortState::kDown, PortState::kInitialize,
                           PortState::kArmed, PortState::kActive};
  const auto may = [](PortState now, PortState wanted) {
    switch (wanted) {
      case PortState::kNoChange:
      case PortState::kDown: return true;
      case PortState::kInitialize: return false;
      case PortState::kArmed: return now == PortState::kInitialize || now == PortState::kArmed;
      case PortState::kActive: return now == PortState::kArmed || now == PortState::kActive;
    }
    return false;
  };
  for (const PortState now :
       {PortState::kDown, PortState::kInitialize, PortState::kArmed, PortState::kActive}) {
    for (const PortState wanted : all) {
      port_.link_down();
      if (now != PortState::kDown) bring_to(now);
      ASSERT_EQ(port_.state(), now);
      EXPECT_EQ(order(wanted) == 0, may(now, wanted))
          << static_cast<int>(now) << " to " << static_cast<int>(wanted);
    }
  }
  port_.link_up(Speed::kQuad);
  for (std::uint8_t wanted = 5; wanted < 16; ++wanted)
    expect_refused([wanted](PortInfo& info) { info.speed_supported_state |= wanted; });
}

TEST_F(PortTest, PhysicalStatesOfHardwareAreRefused) {
  for (unsigned state = 4; state < 16; ++state) {
    expect_refused([state](PortInfo& info) {
      info.physical_state_default |= static_cast<std::uint8_t>(state << 4);
    });
  }
}

TEST_F(PortTest, WidthsThatItDoesNotHaveAreRefused) {
  for (const std::uint8_t width :
       {std::uint8_t{4}, std::uint8_t{8}, std::uint8_t{6}, std::uint8_t{0xFE}})
    expect_refused([width](PortInfo& info) { info.width_enabled = width; });
  EXPECT_EQ(set([](PortInfo& info) { info.width_enabled = 1; }), 0);
  EXPECT_EQ(port_.info().width_enabled, 1);
  EXPECT_EQ(set([](PortInfo& info) { info.width_enabled = 0; }), 0);
  EXPECT_EQ(port_.info().width_enabled, 1);
  EXPECT_EQ(set([](PortInfo& info) { info.width_enabled = 0xFF; }), 0);
  EXPECT_EQ(port_.info().width_enabled, 3);
}

TEST_F(PortTest, SpeedsThatItDoesNotHaveAreRefused) {
  const auto enable = [](std::uint8_t speed) {
    return [speed](PortInfo& info) {
      info.speed_active_enabled =
          static_cast<std::uint8_t>((info.speed_active_enabled & 0xF0) | speed);
    };
  };
  for (const std::uint8_t speed : std::initializer_list<std::uint8_t>{4, 5, 7, 14})
    expect_refused(enable(speed));
  EXPECT_EQ(set(enable(1)), 0);
  EXPECT_EQ(port_.info().speed_active_enabled & 0x0F, 1);
  EXPECT_EQ(set(enable(0)), 0);
  EXPECT_EQ(port_.info().speed_active_enabled & 0x0F, 1);
  EXPECT_EQ(set(enable(15)), 0);
  EXPECT_EQ(port_.info().speed_active_enabled & 0x0F, 3);
}

TEST_F(PortTest, AnMtuAboveItsOwnIsRefused) {
  const auto mtu = [](unsigned number) {
    return [number](PortInfo& info) {
      info.mtu_master_level =
          static_cast<std::uint8_t>((number << 4) | (info.mtu_master_level & 15));
    };
  };
  for (unsigned number = 5; number < 16; ++number) expect_refused(mtu(number));
  EXPECT_EQ(set(mtu(1)), 0);
  EXPECT_EQ(port_.mtu(), Mtu::k256);
  EXPECT_EQ(set(mtu(0)), 0);
  EXPECT_EQ(port_.mtu(), Mtu::k256);
  EXPECT_EQ(set(mtu(4)), 0);
  EXPECT_EQ(port_.mtu(), Mtu::k2048);
}

TEST_F(PortTest, MoreLanesThanOneAreRefused) {
  for (unsigned lanes = 2; lanes < 16; ++lanes) {
    expect_refused([lanes](PortInfo& info) {
      info.lanes_enforcement = static_cast<std::uint8_t>(lanes << 4);
    });
  }
}

TEST_F(PortTest, LidsThatAreNotUnicastAreRefused) {
  for (const std::uint16_t lid : std::initializer_list<std::uint16_t>{0xC000, 0xFFFE, 0xFFFF}) {
    expect_refused([lid](PortInfo& info) { info.lid.set(lid); });
    expect_refused([lid](PortInfo& info) { info.master_lid.set(lid); });
  }
  for (const std::uint16_t lid : std::initializer_list<std::uint16_t>{0, 1, 0xBFFF})
    EXPECT_EQ(set([lid](PortInfo& info) { info.lid.set(lid); }), 0);
}

TEST_F(PortTest, ALidThatItsMaskCutsIsRefused) {
  for (unsigned lmc = 1; lmc < 8; ++lmc) {
    const auto with = [lmc](std::uint16_t lid) {
      return [lid, lmc](PortInfo& info) {
        info.lid.set(lid);
        info.protection_lmc = static_cast<std::uint8_t>(lmc);
      };
    };
    expect_refused(with(0x101));
    expect_refused(with(static_cast<std::uint16_t>(0x100 + (1U << (lmc - 1)))));
    EXPECT_EQ(set(with(0x100)), 0);
    EXPECT_EQ(port_.lids(), 1U << lmc);
    EXPECT_FALSE(port_.has_lid(0xFF));
    EXPECT_TRUE(port_.has_lid(0x100));
    EXPECT_TRUE(port_.has_lid(static_cast<std::uint16_t>(0x100 + (1U << lmc) - 1)));
    EXPECT_FALSE(port_.has_lid(static_cast<std::uint16_t>(0x100 + (1U << lmc))));
  }
}

TEST_F(PortTest, ASwitchsOwnPortHasNoMask) {
  PortInfo wish = own_.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
  wish.lid.set(0x100);
  wish.protection_lmc = 1;
  EXPECT_EQ(own_.set_info(wish), mad_status::kBadField);
  wish.protection_lmc = 0;
  EXPECT_EQ(own_.set_info(wish), 0);
  EXPECT_EQ(own_.lid(), 0x100);
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
    PortInfo wish = port->info();
    wish.speed_supported_state &= 0xF0;
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

// ---- Orders ----

TEST_F(PortTest, GoesFromInitializeToActiveByOrders) {
  port_.link_up(Speed::kDouble);
  EXPECT_EQ(port_.state(), PortState::kInitialize);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kLinkUp);
  EXPECT_FALSE(port_.sends_data());
  EXPECT_FALSE(port_.receives_data());
  EXPECT_EQ(order(PortState::kArmed), 0);
  EXPECT_FALSE(port_.sends_data());
  EXPECT_TRUE(port_.receives_data());
  EXPECT_EQ(order(PortState::kActive), 0);
  EXPECT_TRUE(port_.sends_data());
  EXPECT_TRUE(port_.receives_data());
  EXPECT_EQ(news_, (std::vector(3, PortNews::kChange)));
  news_.clear();
  EXPECT_EQ(order(PortState::kActive), 0);  // which it is
  EXPECT_TRUE(news_.empty());
}

TEST_F(PortTest, AnOrderDownHasTheLinkJudged) {
  bring_to(PortState::kActive);
  news_.clear();
  EXPECT_EQ(order(PortState::kDown), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
  EXPECT_EQ(news_, (std::vector{PortNews::kChange, PortNews::kOrder}));
  EXPECT_EQ(port_.totals().link_downed, 1u);
}

TEST_F(PortTest, ADisabledPortStaysDisabledUntilItIsToPoll) {
  bring_to(PortState::kActive);
  news_.clear();
  EXPECT_EQ(order(PhysicalState::kDisabled), 0);
  EXPECT_TRUE(port_.is_disabled());
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(news_, (std::vector{PortNews::kChange, PortNews::kOrder}));
  port_.link_down();
  EXPECT_TRUE(port_.is_disabled());
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_FALSE(port_.is_disabled());
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
}

TEST_F(PortTest, AnOrderDownDoesNotEnableADisabledPort) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kDisabled), 0);
  EXPECT_EQ(order(PortState::kDown), 0);
  EXPECT_TRUE(port_.is_disabled());
}

TEST_F(PortTest, PollingTakesALinkDownThatWasUp) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
}

TEST_F(PortTest, ASleepingPortIsDown) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kSleep), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kSleep);
}

TEST_F(PortTest, APortThatGoesDownSleepsIfThatIsItsDefault) {
  bring_to(PortState::kActive);
  EXPECT_EQ(set([](PortInfo& info) { info.physical_state_default = 1; }), 0);
  port_.link_down();
  EXPECT_TRUE(port_.is_asleep());
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(set([](PortInfo& info) {
              info.speed_supported_state = (info.speed_supported_state & 0xF0) | 1;
              info.physical_state_default = 0;
            }),
            0);
  EXPECT_TRUE(port_.is_asleep());
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
  // No other state is one.
  for (const std::uint8_t state : std::initializer_list<std::uint8_t>{3, 4, 5, 15})
    EXPECT_NE(set([state](PortInfo& info) { info.physical_state_default = state; }), 0);
}

TEST_F(PortTest, ASwitchsOwnPortIsAlwaysActive) {
  own_.link_up(Speed::kQuad);
  EXPECT_TRUE(own_.is_active());
  PortInfo wish = own_.info();
  wish.physical_state_default = 0x30;
  wish.speed_supported_state = (wish.speed_supported_state & 0xF0) | 1;
  EXPECT_EQ(own_.set_info(wish), 0);
  EXPECT_TRUE(own_.is_active());
  EXPECT_FALSE(own_.is_disabled());
}

// ---- The link ----

TEST_F(PortTest, ALinkHasItsSlowerSpeed) {
  port_.link_up(Speed::kSingle);
  EXPECT_EQ(port_.info().speed_active_enabled, 0x13);
}

TEST_F(PortTest, ALinkThatIsDownIsNotNews) {
  port_.link_down();
  EXPECT_TRUE(news_.empty());
  EXPECT_EQ(port_.totals().link_downed, 0u);
  port_.link_up(Speed::kQuad);
  port_.link_down();
  EXPECT_EQ(port_.totals().link_downed, 1u);
}

TEST_F(PortTest, DataMakesAnArmedPortActive) {
  port_.link_up(Speed::kQuad);
  port_.heard_data();
  EXPECT_EQ(port_.state(), PortState::kInitialize);
  EXPECT_EQ(order(PortState::kArmed), 0);
  news_.clear();
  port_.heard_data();
  EXPECT_TRUE(port_.is_active());
  port_.heard_data();
  EXPECT_EQ(news_, (std::vector{PortNews::kChange}));
}

TEST_F(PortTest, ItsIdentityOutlivesItsLink) {
  EXPECT_EQ(set([](PortInfo& info) { info.lid.set(9); }), 0);
  bring_to(PortState::kActive);
  port_.link_down();
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(port_.lid(), 9);
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
