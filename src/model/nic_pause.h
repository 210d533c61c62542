// The pause frames of a NIC (IEEE 802.3x), as vSphere's `network nic pauseParams` has them: whether
// the NIC obeys them, and whether it sends them itself.

#pragma once

#include <optional>

namespace paravane::model {

struct PauseDirections {
  bool rx = false;  // received pause frames are obeyed
  bool tx = false;  // pause frames are sent

  friend bool operator==(const PauseDirections&, const PauseDirections&) = default;
};

struct NicPause {
  PauseDirections set{};  // by the driver or an operator
  bool auto_negotiation = false;
  std::optional<PauseDirections> negotiated{};  // nullopt: not, or not reported

  // What the NIC does.
  PauseDirections in_force() const { return negotiated.value_or(set); }

  friend bool operator==(const NicPause&, const NicPause&) = default;
};

}  // namespace paravane::model
