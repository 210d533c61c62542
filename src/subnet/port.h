// Port: one port of a node of the subnet: the attributes that a subnet manager reads and sets
// (PortInfo, partitions), its counters, and the state of its link.
//
// It decides what a Set may change (IBTA volume 1, 14.2.5.6); what a change leads to is told to its
// node. A link is what connects two ports; a port knows only whether it has a partner.
//
// The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/instant.h"
#include "subnet/adapter_model.h"
#include "subnet/port_image.h"
#include "subnet/port_totals.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

using PortNumber = std::uint8_t;

// What a port has been made with.
struct PortAbilities {
  Speed speed = Speed::kQuad;
  wire::infiniband::Mtu mtu = wire::infiniband::Mtu::k4096;
  std::uint16_t partitions = 128;  // entries of its table
  std::uint32_t capabilities = 0;  // wire::infiniband::capability
  std::uint64_t guid = 0;          // of an adapter's port, or of a switch's port 0
  bool has_lid = true;             // not: an outer port of a switch
};

class Port {
 public:
  // What its node hears. Called from within a change; it must not change the port from there.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The state of the port has changed, or its LID.
    virtual void on_port_change(PortNumber port) = 0;
    // The manager wants all clients of subnet administration to register again.
    virtual void on_register_again(PortNumber port) = 0;
    // The physical state was set: the link is to be judged again.
    virtual void on_link_order(PortNumber port) = 0;
  };

  Port(PortNumber number, const PortAbilities& abilities, Listener& listener);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  PortNumber number() const { return number_; }
  const PortAbilities& abilities() const { return abilities_; }

  // ---- Attributes ----
  // As a Get shows it to whatever knows the management key.
  const wire::infiniband::PortInfo& info() const { return info_; }
  // Returns the lower bits of a status (wire::infiniband::mad_status); nothing is changed if it is
  // not 0.
  std::uint16_t set_info(const wire::infiniband::PortInfo& wish);
  // Block `block` of the partition table. False: there is no such block.
  bool read_partitions(std::size_t block, wire::infiniband::PartitionBlock& out) const;
  bool set_partitions(std::size_t block, const wire::infiniband::PartitionBlock& keys);

  // ---- What follows from them ----
  wire::infiniband::PortState state() const;
  wire::infiniband::PhysicalState physical_state() const;
  bool is_active() const { return state() == wire::infiniband::PortState::kActive; }
  bool is_down() const { return state() == wire::infiniband::PortState::kDown; }
  // Whether packets other than management's are sent; received.
  bool sends_data() const { return is_active(); }
  bool receives_data() const;
  std::uint16_t lid() const { return info_.lid.get(); }
  std::uint16_t lids() const;  // how many, from lid() on: 2^LMC
  bool has_lid(std::uint16_t lid) const;
  // Of its LIDs, the one with these lower bits (4.1.3); bits beyond the LMC are not read.
  std::uint16_t lid_with(std::uint8_t path_bits) const;
  // The lower bits of one of its LIDs; 0 of another's.
  std::uint8_t path_bits_of(std::uint16_t lid) const;
  std::uint64_t guid() const { return abilities_.guid; }
  // With the prefix of the subnet, as the manager set it (4.1.1).
  wire::infiniband::Gid gid() const;
  wire::infiniband::Mtu mtu() const;  // of the link
  // Whether a packet of data with all of its headers goes over the link.
  bool fits(std::size_t packet_bytes) const;
  // Of packets that arrive, and that are sent.
  bool enforces_in() const;
  bool enforces_out() const;
  // The key at an index of the table; 0: none.
  std::uint16_t partition(std::size_t index) const;
  std::span<const std::uint16_t> partitions() const { return partitions_; }
  // Whether a member of one of its partitions may receive from a member with `key`.
  bool lets_pass(std::uint16_t key) const;
  // Whether it is in the partition of `key`, as whatever kind of member.
  bool is_in_partition(std::uint16_t key) const;
  // The key of the table that lets `key` pass; 0: none.
  std::uint16_t partition_for(std::uint16_t key) const;
  // The index of that key; 0 if no key lets it pass.
  std::uint16_t partition_index(std::uint16_t key) const;

  // ---- The node's part ----
  void set_manager(bool is_manager);
  // Capability bits that come and go; each change is the caller's to tell.
  std::uint32_t capabilities() const { return info_.capabilities.get(); }
  void count_key_violation();
  void count_partition_violation();
  void count_qkey_violation();
  // The management key of a request was wrong, or right. After a wrong one the lease of the key
  // runs, if it has one, until a right one comes; with its end protection ends, so that a new
  // manager can take over from one that has gone (14.2.4.2).
  void heard_wrong_key();
  void heard_right_key();
  void on_time(Instant now);
  Instant next_deadline() const { return lease_begins_ ? Instant::min() : lease_end_; }

  // ---- The link's part ----
  // Trained with a partner: the slower speed and the smaller MTU hold. Initialize follows.
  void link_up(Speed speed);
  void link_down();
  bool is_disabled() const {
    return physical_state() == wire::infiniband::PhysicalState::kDisabled;
  }
  // It hears a partner that looks for it, but looks for none.
  bool is_asleep() const { return physical_state() == wire::infiniband::PhysicalState::kSleep; }
  // A data packet arrived: an armed port becomes active (7.2.7).
  void heard_data();

  // ---- From one engine to the next ----
  PortImage image(Instant now) const;
  // Whether a manager could have made this port so. The image may come from an enemy.
  bool can_be(const PortImage& image) const;
  // Its node is not told. REQUIRES: can_be().
  void adopt(const PortImage& image, Instant now);

  PortTotals& totals() { return totals_; }
  const PortTotals& totals() const { return totals_; }

 private:
  void set_state(wire::infiniband::PortState state);
  // Sleep or Polling, as the manager wishes (LinkDownDefaultState).
  wire::infiniband::PhysicalState state_when_down() const;
  void set_physical_state(wire::infiniband::PhysicalState state);
  static wire::infiniband::PortInfo wish_of(const PortImage& image);
  std::uint16_t judge(const wire::infiniband::PortInfo& wish) const;
  void take_identity(const wire::infiniband::PortInfo& wish);
  void take_link(const wire::infiniband::PortInfo& wish);
  void follow_orders(const wire::infiniband::PortInfo& wish);

  const PortNumber number_;
  const PortAbilities abilities_;
  Listener& listener_;
  wire::infiniband::PortInfo info_;
  std::vector<std::uint16_t> partitions_;
  bool lease_begins_ = false;  // at the next on_time()
  Instant lease_end_ = kNever;
  PortTotals totals_;
};

}  // namespace paravane::subnet
