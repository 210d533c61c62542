// ClosedChannel explains why a host accepts no channels (TCP connections) from the other hosts of
// its cluster, and gives the command that changes this.
//
// A host publishes the explanation as text, and the cause as a ClosedBy value. The other hosts
// derive the command from that value. They never show a command that another host sent, because an
// administrator would paste it into a shell.

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

// The command that removes the cause, on a host on which `vmknic` can be tagged; empty for kOther.
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
