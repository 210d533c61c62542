// Neighbour solicitations and advertisements of IPv6 (RFC 4861, 4.3 and 4.4; RFC 2464), as frames
// of Ethernet: by them a link-local address is asked for, and answered.
//
// What is read is checked as RFC 4861, 7.1 demands: hop limit 255, code 0, a right checksum,
// options that end where the packet ends, no extension header. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ipoib/frame.h"
#include "neighbour/station.h"

namespace paravane::neighbour {

struct Solicitation {
  Address source{};  // all zero: the sender looks whether the address is free (RFC 4862, 5.4)
  Address target{};

  bool is_probe() const { return source == Address{}; }
  friend bool operator==(const Solicitation&, const Solicitation&) = default;
};

struct Advertisement {
  Address target{};
  std::optional<MacBytes> mac{};  // of the target; nullopt: it is not told

  friend bool operator==(const Advertisement&, const Advertisement&) = default;
};

// nullopt: another packet, or one that is to be ignored.
std::optional<Solicitation> read_solicitation(const ipoib::EthernetFrame& frame);
std::optional<Advertisement> read_advertisement(const ipoib::EthernetFrame& frame);

// A frame in which `from` asks for the MAC address of `target`, of all that may have it.
std::vector<std::byte> solicitation_of(const Station& from, const Address& target);
// A frame in which `from` tells its MAC address: as an answer to `asker`, whose MAC is `to`; or, if
// the asker has no address yet, to all.
std::vector<std::byte> advertisement_of(const Station& from, const Solicitation& asker,
                                        const MacBytes& to);

}  // namespace paravane::neighbour
