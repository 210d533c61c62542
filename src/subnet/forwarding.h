// Forwarding: the tables of a switch, as a subnet manager wrote them: through which port a LID is
// reached, through which ports a multicast LID, and what is told about the tables (IBTA volume 1,
// 14.2.5.4, 14.2.5.10, 14.2.5.12).
//
// A value without clock or socket. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "subnet/port.h"
#include "subnet/port_mask.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

// The tables as an engine left them to the one that replaces it.
struct ForwardingImage {
  wire::infiniband::SwitchInfo info{};
  std::vector<std::uint8_t> linear{};  // ports, by LID; whole blocks
  std::vector<PortMask> multicast{};   // by multicast LID; whole blocks
};

class Forwarding {
 public:
  static constexpr std::size_t kLinearEntries = 0xC000;
  static constexpr std::size_t kMulticastEntries = 1024;

  // `ports`: outer ports.
  explicit Forwarding(PortNumber ports);

  // ---- For the subnet manager ----
  const wire::infiniband::SwitchInfo& info() const { return info_; }
  // Only what a manager may set. False: it cannot be.
  bool set_info(const wire::infiniband::SwitchInfo& wish);
  // The state of a port has changed, which the manager is to see until it clears it.
  void mark_port_change();
  // Blocks of the tables; false: there is no such block, or an entry names no port.
  bool read_linear(std::size_t block, wire::infiniband::LinearBlock& out) const;
  bool set_linear(std::size_t block, const wire::infiniband::LinearBlock& entries);
  // `position`: which 16 ports the masks are about.
  bool read_multicast(std::size_t block, std::size_t position,
                      wire::infiniband::MulticastBlock& out) const;
  bool set_multicast(std::size_t block, std::size_t position,
                     const wire::infiniband::MulticastBlock& masks);

  // ---- From one engine to the next ----
  ForwardingImage image() const;
  // Whether a manager could have written it. The image may come from an enemy.
  bool can_be(const ForwardingImage& image) const;
  // REQUIRES: can_be().
  void adopt(const ForwardingImage& image);

  // ---- For packets ----
  // kNoPort: no way.
  PortNumber way_to(std::uint16_t lid) const;
  PortMask ways_to(std::uint16_t multicast_lid) const;

 private:
  const PortNumber ports_;
  wire::infiniband::SwitchInfo info_;
  std::vector<std::uint8_t> linear_;  // grows up to the highest block that was set
  std::vector<PortMask> multicast_;
};

}  // namespace paravane::subnet
