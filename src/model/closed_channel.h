// ClosedChannel: why a host takes no channels from other hosts, and the command that opens it.
//
// A host tells the others why in two ways: as text for people, and as a reason of which each of
// them makes the command itself. A command is never taken from another host, because an
// administrator pastes it into a shell.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paravane::model {

enum class ClosedBy : std::uint8_t {
  kOther,
  kRuleset,    // the firewall ruleset pvrdma is disabled
  kTag,        // /Net/PVRDMAVmknic names no VMkernel interface
  kInventory,  // the cluster's inventory has not been read yet
};

// As hosts publish it: "ruleset", "vmknic", "inventory"; of kOther empty.
std::string_view print(ClosedBy reason);
ClosedBy parse_closed_by(std::string_view text);  // kOther: this release does not know the reason

struct ClosedChannel {
  std::string why{};     // empty: the channel is not closed
  std::string remedy{};  // a command; empty: none is known
  ClosedBy by{};

  friend bool operator==(const ClosedChannel&, const ClosedChannel&) = default;
};

// The command against `reason` on a host that can tag `vmknic`; of kOther empty.
std::string reopen(ClosedBy reason, std::string_view vmknic);

// What is wrong with the channel to another host.
struct ChannelProblem {
  std::string text{};    // empty: the channel is open
  std::string remedy{};  // a command; empty: none is known
  std::string host{};    // the host whose configuration closes the channel; empty: none does

  bool is_open() const { return text.empty(); }
  friend bool operator==(const ChannelProblem&, const ChannelProblem&) = default;
};

// "TEXT (REMEDY)".
std::string describe(const ClosedChannel& closed);
std::string describe(const ChannelProblem& problem);

}  // namespace paravane::model
