// Node: what is the same in every node of the subnet, an adapter or a switch: its identity, its
// ports, and what its subnet management agent needs of it.
//
// The subnet's thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "subnet/forwarding.h"
#include "subnet/port.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

struct NodeIdentity {
  wire::infiniband::NodeType type = wire::infiniband::NodeType::kChannelAdapter;
  std::uint64_t guid = 0;
  std::uint64_t system_guid = 0;
  std::string description;  // at most 63 characters are told
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
};

class Node : public Port::Listener {
 public:
  explicit Node(NodeIdentity identity) : identity_(std::move(identity)) {}
  ~Node() override = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const NodeIdentity& identity() const { return identity_; }
  void describe(std::string description) { identity_.description = std::move(description); }
  bool is_switch() const { return identity_.type == wire::infiniband::NodeType::kSwitch; }
  // Outer ports; they are numbered from 1.
  PortNumber ports() const { return static_cast<PortNumber>(ports_.size() - 1); }
  // nullptr: there is no such port. 0 is a switch's own.
  Port* port(PortNumber number) { return number < ports_.size() ? ports_[number].get() : nullptr; }
  const Port* port(PortNumber number) const {
    return number < ports_.size() ? ports_[number].get() : nullptr;
  }
  // The port whose management key guards a request that came through `arrived` (14.2.4).
  Port& guarded_by(PortNumber arrived) { return *port(is_switch() ? 0 : arrived); }
  // Whether a request has that key, or needs none; a wrong one is counted.
  bool has_key(std::uint64_t key, PortNumber arrived) {
    Port& guard = guarded_by(arrived);
    const std::uint64_t right = guard.info().management_key.get();
    if (right == 0) return true;
    if (key == right) {
      guard.heard_right_key();
      return true;
    }
    guard.count_key_violation();
    guard.heard_wrong_key();
    return false;
  }
  // nullptr: an adapter has none.
  virtual Forwarding* forwarding() { return nullptr; }
  // Goes up with each change of a port, and when a manager comes to one or goes.
  std::uint64_t changes() const { return changes_; }

 protected:
  void count_change() { ++changes_; }

  // A place for port 0 first, empty in an adapter.
  std::vector<std::unique_ptr<Port>> ports_;

 private:
  NodeIdentity identity_;
  std::uint64_t changes_ = 0;
};

}  // namespace paravane::subnet
