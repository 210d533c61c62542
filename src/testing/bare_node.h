// BareNode: a node of a subnet with ports and nothing behind them, for tests of its agents. It
// notes what its ports tell it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "subnet/node.h"

namespace paravane::fake {

class BareNode final : public subnet::Node {
 public:
  static constexpr std::uint64_t kGuid = 0x0202'0000'0000'0A00;
  static constexpr std::uint16_t kPartitions = 40;  // a block, and part of one

  BareNode(wire::infiniband::NodeType type, subnet::PortNumber ports,
           std::string description = "bare node")
      : Node({.type = type,
              .guid = kGuid,
              .system_guid = kGuid + 0xF0,
              .description = std::move(description),
              .device_id = 0x673C,
              .revision = 0xB0}) {
    if (is_switch()) {
      tables_.emplace(ports);
      ports_.push_back(std::make_unique<subnet::Port>(
          subnet::PortNumber{0}, subnet::PortAbilities{.partitions = kPartitions, .guid = kGuid},
          *this));
    } else {
      ports_.push_back(nullptr);
    }
    for (unsigned number = 1; number <= ports; ++number) {
      const subnet::PortAbilities abilities{.partitions = kPartitions,
                                            .guid = is_switch() ? 0 : kGuid + number,
                                            .has_lid = !is_switch()};
      ports_.push_back(std::make_unique<subnet::Port>(static_cast<subnet::PortNumber>(number),
                                                      abilities, *this));
    }
    if (is_switch()) ports_[0]->link_up(subnet::Speed::kQuad);
    changes.clear();
  }

  subnet::Forwarding* forwarding() override { return tables_ ? &*tables_ : nullptr; }
  void on_port_change(subnet::PortNumber port) override { changes.push_back(port); }
  void on_register_again(subnet::PortNumber port) override { registers_again.push_back(port); }
  void on_link_order(subnet::PortNumber port) override { orders.push_back(port); }

  std::vector<subnet::PortNumber> changes;
  std::vector<subnet::PortNumber> registers_again;
  std::vector<subnet::PortNumber> orders;

 private:
  std::optional<subnet::Forwarding> tables_;
};

}  // namespace paravane::fake
