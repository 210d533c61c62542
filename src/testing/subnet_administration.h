// SubnetAdministration: a subnet administration (SA) for tests, at the port of a SubnetManager: it
// has a broadcast group for each partition that the test gives it, and groups that full members
// have it make, which end with the last of these; it takes members in and out, and knows the path
// to each LID that the manager has given.
//
// A question is noted when it arrives and answered in serve(), since a join writes the switches'
// tables. A test may have it answer badly, or not at all. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/turn_clock.h"
#include "subnet/mad_port.h"
#include "testing/subnet_manager.h"
#include "wire/infiniband/subnet_administration.h"

namespace paravane::fake {

class SubnetAdministration final : private subnet::MadAgent {
 public:
  // What members are told of a partition's broadcast group.
  struct Group {
    std::uint32_t qkey = 0x0B1B;
    wire::infiniband::Mtu mtu = wire::infiniband::Mtu::k2048;
    std::uint16_t lid = 0;  // 0: the next of the multicast LIDs
    std::uint8_t level = 0;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t rate = 7;  // as the protocol has it
  };
  // How questions of a kind are answered.
  struct Manners {
    bool is_silent = false;
    bool is_busy = false;
    std::optional<wire::infiniband::AdministrationStatus> refusal{};
    bool is_of_another = false;  // of the group or LID after the one that was asked for
    std::uint8_t method = wire::infiniband::method::kGetResponse;
    std::optional<std::uint16_t> attribute{};
  };
  struct Asked {
    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    std::uint64_t components = 0;
    wire::infiniband::MulticastMember member{};  // one of both
    wire::infiniband::PathRecord path{};
  };

  // All outlive us.
  SubnetAdministration(subnet::MadPort& mads, SubnetManager& manager, const TurnClock& clock);
  ~SubnetAdministration() override;

  // ---- Wishes ----
  // The broadcast group of the partition with this full member's key; replaces it, and its members
  // stay.
  void make_group(std::uint16_t partition, const Group& group);
  void make_group(std::uint16_t partition) { make_group(partition, Group{}); }
  void remove_group(std::uint16_t partition) { groups_.erase(partition); }
  // A node that the manager has not found.
  void add_node(std::uint16_t lid, const wire::infiniband::Gid& gid) { others_[lid] = gid; }
  Manners& to_members() { return to_members_; }
  Manners& to_paths() { return to_paths_; }
  // What is answered of each group that was made; nullopt: what the one that made it said.
  void use_made_qkey(std::optional<std::uint32_t> qkey) { made_qkey_ = qkey; }
  void use_path_mtu(wire::infiniband::Mtu mtu) { path_mtu_ = static_cast<std::uint8_t>(mtu); }
  void use_path_level(std::uint8_t level) { path_level_ = level; }
  // Of the LIDs of the one that asks, the one that its path begins at.
  void use_path_bits(std::uint8_t bits) { path_bits_ = bits; }
  // Of all groups, and the groups that were made.
  void forget_members();
  // Forgets all members, and has the ports of all adapters register again.
  void want_registrations();

  // ---- Work ----
  // Answers what has been asked. False: nothing was.
  bool serve();

  // ---- What is ----
  // In the order of their arrival.
  const std::vector<Asked>& asked() const { return asked_; }
  void forget_asked() { asked_.clear(); }
  std::size_t asked_for(std::uint8_t method, std::uint16_t attribute) const;
  bool is_member(std::uint16_t partition, std::uint64_t port_guid) const;
  std::uint16_t lid_of(std::uint16_t partition) const;
  // Of a group that was made.
  bool is_member(const wire::infiniband::Gid& group, std::uint64_t port_guid) const;
  bool is_sender(const wire::infiniband::Gid& group, std::uint64_t port_guid) const;
  // 0: there is no such group.
  std::uint16_t lid_of(const wire::infiniband::Gid& group) const;
  std::size_t made_groups() const { return made_.size(); }

 private:
  struct Waiting {
    subnet::MadAddress from;
    wire::infiniband::AdministrationPacket packet;
  };
  struct Known {
    Group group{};
    std::uint16_t own_lid = 0;          // that it has if the test gives it none
    std::set<std::uint64_t> members{};  // port GUIDs
  };

  struct Made {
    wire::infiniband::MulticastMember record{};
    std::set<std::uint64_t> members{};
    std::set<std::uint64_t> senders{};
  };

  void answer(const Waiting& question);
  // The status, and the record to answer with in `packet`.
  std::uint16_t take_member(wire::infiniband::AdministrationPacket& packet);
  std::uint16_t take_member_of_made(wire::infiniband::AdministrationPacket& packet);
  std::uint16_t find_path(wire::infiniband::AdministrationPacket& packet) const;
  std::optional<wire::infiniband::Gid> gid_at(std::uint16_t lid) const;

  // ---- subnet::MadAgent ----
  void on_mad(subnet::AgentId agent, const subnet::MadAddress& from,
              std::span<const std::byte> mad) override;
  void on_no_answer(subnet::AgentId /*agent*/, const subnet::MadAddress& /*to*/,
                    std::span<const std::byte> /*mad*/) override {}

  subnet::MadPort& mads_;
  SubnetManager& manager_;
  const TurnClock& clock_;
  subnet::AgentId agent_{};
  Manners to_members_;
  Manners to_paths_;
  std::uint8_t path_mtu_ = static_cast<std::uint8_t>(wire::infiniband::Mtu::k4096);
  std::uint8_t path_level_ = 0;
  std::uint8_t path_bits_ = 0;
  std::uint16_t next_lid_ = wire::infiniband::kFirstMulticastLid;
  std::map<std::uint16_t, Known> groups_;  // by partition
  std::map<wire::infiniband::Gid, Made> made_;
  std::optional<std::uint32_t> made_qkey_{};
  std::map<std::uint16_t, wire::infiniband::Gid> others_;
  std::deque<Waiting> waiting_;
  std::vector<Asked> asked_;
};

// The GID that a port has by its GUID.
wire::infiniband::Gid gid_of_port(std::uint64_t port_guid);

}  // namespace paravane::fake
