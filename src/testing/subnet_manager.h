// SubnetManager: a subnet manager for tests, which does through a port's MADs what opensm does: it
// finds all nodes by directed routes, gives them LIDs, writes the tables of switches and ports, and
// makes the ports active. It does not look again until it is told.
//
// Each question is answered within the call: `step` brings packets on their way until none moves.
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/turn_clock.h"
#include "subnet/mad_port.h"
#include "testing/management_datagrams.h"

namespace paravane::fake {

class SubnetManager final : private subnet::MadAgent {
 public:
  struct Node {
    RoutePath path;  // of the way it was found by
    wire::infiniband::NodeInfo info;
    std::uint16_t lid = 0;                        // of its port 0, or of that which was found
    std::map<std::uint8_t, std::size_t> links{};  // of a switch: by port, an index of nodes()
    bool is_switch() const { return info.type == wire::infiniband::NodeType::kSwitch; }
  };
  struct Heard {
    subnet::MadAddress from;
    Smp smp;
  };

  // `mads` and `clock` outlive us.
  SubnetManager(subnet::MadPort& mads, const TurnClock& clock, std::function<void()> step);
  ~SubnetManager() override;

  // ---- Wishes, before a sweep ----
  void use_key(std::uint64_t key, std::uint8_t protection);
  void represses(bool does) { represses_ = does; }

  // ---- The subnet ----
  // Finds all and makes it active. Nodes keep their LID from one sweep to the next.
  void sweep();
  // Nodes as the last sweep found them, the manager's own first; a port of an adapter is a node.
  const std::vector<Node>& nodes() const { return nodes_; }
  // nullptr: there is none.
  const Node* find(std::uint64_t port_guid) const;
  std::uint16_t lid_of(std::uint64_t port_guid) const;
  // Packets to a multicast LID reach these ports.
  void make_group(std::uint16_t multicast_lid, std::span<const std::uint64_t> port_guids);
  // The whole first block of a port's partition table: an adapter's, or a switch's port.
  bool write_partitions(const Node& node, std::vector<std::uint16_t> keys, std::uint8_t port = 0);

  // ---- Single questions; nullopt: no answer ----
  std::optional<Smp> ask(Smp smp, std::uint16_t lid = wire::infiniband::kPermissiveLid);
  std::optional<Smp> ask_at(const RoutePath& path, const Smp& smp) {
    return ask(directed(smp, path));
  }
  // Reads PortInfo, lets `change` work on it, and sets it with states that do not change.
  std::optional<Smp> change_port(const RoutePath& path, std::uint8_t port,
                                 const std::function<void(wire::infiniband::PortInfo&)>& change);

  // What came without having been asked.
  const std::vector<Heard>& heard() const { return heard_; }
  void forget_heard() { heard_.clear(); }

 private:
  void discover();
  void follow_links(std::size_t at);
  std::size_t add_node(const RoutePath& path, const wire::infiniband::NodeInfo& info);
  void give_lid(const Node& node);
  void write_linear(std::size_t at);
  // By which port of a switch each node is reached; kNoPort: by none.
  std::vector<std::uint8_t> ways_from(std::size_t at) const;
  void order(wire::infiniband::PortState state);

  // ---- subnet::MadAgent ----
  void on_mad(subnet::AgentId agent, const subnet::MadAddress& from,
              std::span<const std::byte> mad) override;
  void on_no_answer(subnet::AgentId /*agent*/, const subnet::MadAddress& /*to*/,
                    std::span<const std::byte> /*mad*/) override {}

  subnet::MadPort& mads_;
  const TurnClock& clock_;
  const std::function<void()> step_;
  std::uint64_t key_ = 0;
  std::uint8_t protection_ = 0;
  bool represses_ = true;
  subnet::AgentId by_route_{};
  subnet::AgentId by_lid_{};
  std::uint32_t next_transaction_ = 1;
  std::map<std::uint32_t, Smp> answers_;
  std::vector<Heard> heard_;
  std::vector<Node> nodes_;
  std::map<std::uint64_t, std::uint16_t> lids_;  // by port GUID
};

}  // namespace paravane::fake
