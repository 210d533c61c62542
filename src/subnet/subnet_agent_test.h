// What tests of SubnetAgent share: the agents of an adapter and of a switch.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "subnet/subnet_agent.h"
#include "testing/bare_node.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {

class SubnetAgentTest : public testing::Test {
 protected:
  struct Agent {
    explicit Agent(wire::infiniband::NodeType type, PortNumber ports)
        : node(type, ports), agent(node) {}
    fake::BareNode node;
    SubnetAgent agent;

    fake::Smp answer(const fake::Smp& request, PortNumber arrived = 1) {
      const auto answer = agent.answer(request, arrived);
      EXPECT_TRUE(answer.has_value());
      return answer.value_or(fake::Smp{});
    }
    std::uint16_t status(const fake::Smp& request, PortNumber arrived = 1) {
      return fake::status_of(answer(request, arrived));
    }
    void set_key(std::uint64_t key, unsigned protection, PortNumber number) {
      wire::infiniband::PortInfo info = fake::wish_at(*node.port(number));
      info.management_key.set(key);
      info.protection_lmc = static_cast<std::uint8_t>(protection << 6);
      EXPECT_EQ(node.port(number)->set_info(info), 0);
    }
  };

  Agent adapter_{wire::infiniband::NodeType::kChannelAdapter, 2};
  Agent switch_{wire::infiniband::NodeType::kSwitch, 36};
};

}  // namespace paravane::subnet
