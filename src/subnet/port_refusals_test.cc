// What a manager sets and Port refuses, whole.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "subnet/port_test.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

namespace mad_status = wire::infiniband::mad_status;
using wire::infiniband::Mtu;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

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
  PortInfo wish = fake::wish_at(own_);
  wish.lid.set(0x100);
  wish.protection_lmc = 1;
  EXPECT_EQ(own_.set_info(wish), mad_status::kBadField);
  wish.protection_lmc = 0;
  EXPECT_EQ(own_.set_info(wish), 0);
  EXPECT_EQ(own_.lid(), 0x100);
}

}  // namespace
}  // namespace paravane::subnet
