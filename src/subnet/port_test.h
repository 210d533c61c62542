// What tests of Port share: an adapter's port, an outer port and the own port of a switch, the news
// of all three, and a manager's orders.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "subnet/port.h"
#include "testing/port_orders.h"

namespace paravane::subnet {

enum class PortNews : std::uint8_t { kChange, kRegisterAgain, kOrder };

class PortTest : public testing::Test, private Port::Listener {
 protected:
  // As a manager does it: what was read, changed in some places.
  wire::infiniband::PortInfo wish_with(
      const std::function<void(wire::infiniband::PortInfo&)>& change) const {
    wire::infiniband::PortInfo wish = fake::wish_at(port_);
    change(wish);
    return wish;
  }
  std::uint16_t set(const std::function<void(wire::infiniband::PortInfo&)>& change) {
    return port_.set_info(wish_with(change));
  }
  std::uint16_t order(wire::infiniband::PortState state) {
    return set([state](wire::infiniband::PortInfo& info) {
      info.speed_supported_state |= static_cast<std::uint8_t>(state);
    });
  }
  std::uint16_t order(wire::infiniband::PhysicalState state) {
    return set([state](wire::infiniband::PortInfo& info) {
      info.physical_state_default |= static_cast<std::uint8_t>(static_cast<unsigned>(state) << 4);
    });
  }
  // Refused, and nothing is another than before.
  void expect_refused(const std::function<void(wire::infiniband::PortInfo&)>& change) {
    const wire::infiniband::PortInfo before = port_.info();
    news_.clear();
    EXPECT_EQ(set([&change](wire::infiniband::PortInfo& info) {
                info.lid.set(77);  // which would be good
                change(info);
              }),
              wire::infiniband::mad_status::kBadField);
    EXPECT_EQ(0, std::memcmp(&before, &port_.info(), sizeof before));
    EXPECT_TRUE(news_.empty());
  }
  void bring_to(wire::infiniband::PortState state) {
    port_.link_up(Speed::kQuad);
    if (state == wire::infiniband::PortState::kInitialize) return;
    EXPECT_EQ(order(wire::infiniband::PortState::kArmed), 0);
    if (state == wire::infiniband::PortState::kArmed) return;
    EXPECT_EQ(order(wire::infiniband::PortState::kActive), 0);
  }

  void on_port_change(PortNumber /*port*/) override { news_.push_back(PortNews::kChange); }
  void on_register_again(PortNumber /*port*/) override {
    news_.push_back(PortNews::kRegisterAgain);
  }
  void on_link_order(PortNumber /*port*/) override { news_.push_back(PortNews::kOrder); }

  std::vector<PortNews> news_;
  Port port_{1,
             {.speed = Speed::kDouble,
              .mtu = wire::infiniband::Mtu::k2048,
              .partitions = 40,
              .guid = 0xABCD},
             *this};
  Port outer_{3, {.partitions = 40, .has_lid = false}, *this};  // of a switch
  Port own_{0, {.partitions = 40, .guid = 0xABCE}, *this};
};

}  // namespace paravane::subnet
