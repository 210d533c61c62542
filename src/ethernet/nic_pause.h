// The pause frames of a NIC (IEEE 802.3, annex 31B): whether it stops sending when the other end of
// the cable asks for it, and whether it asks itself. It uses the ioctl of ethtool.
//
// Blocks until the driver responds. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paravane::ethernet {

class Ethtool;

struct PauseDirections {
  bool rx = false;  // received pause frames are obeyed
  bool tx = false;  // pause frames are sent

  friend bool operator==(const PauseDirections&, const PauseDirections&) = default;
};

struct NicPause {
  PauseDirections set{};  // by the driver or an operator
  bool auto_negotiation = false;
  // What both ends agreed on; nullopt: they did not negotiate, or the driver does not report it.
  std::optional<PauseDirections> negotiated{};

  friend bool operator==(const NicPause&, const NicPause&) = default;
};

// nullopt: the driver reports none.
std::optional<NicPause> read_pause(const Ethtool& ethtool, const std::string& nic);

// What two ends agree on that advertise these link modes (the bits ADVERTISED_* of
// <linux/ethtool.h>), as seen from the first. Source: IEEE 802.3, table 28B-3.
PauseDirections negotiated_pause(std::uint32_t own, std::uint32_t peer);

}  // namespace paravane::ethernet
