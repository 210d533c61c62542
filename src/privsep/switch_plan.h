// Defines the messages between the engine (the unprivileged process) and the keeper (the privileged
// process) about the distributed switches on this host. A plan describes the switches as they
// should be, and a report describes them as they are.
//
// The keeper does not trust a plan. A plan contains only names and numbers of the operator's
// objects, and no names of interfaces except NICs. The keeper validates each name and number again.
//
// As text, each message is a line of printable ASCII. It consists of statements that end in ';' and
// are made of words with one space between them. docs/switch.md has an example.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "model/distributed_switch.h"
#include "model/link_fault.h"
#include "model/vmknic.h"

namespace paravane::privsep {

inline constexpr std::size_t kMaxPlanText = std::size_t{96} * 1024;
inline constexpr std::size_t kMaxReportText = std::size_t{96} * 1024;

struct SwitchPlan {
  struct Switch {
    std::string name;
    std::uint32_t mtu = 1500;
    std::string uplink;                // a NIC, or one of ipoib_uplinks; empty: none
    std::vector<std::uint32_t> vlans;  // of its port groups, each once, going up; 0: untagged; 4095
    // Likewise, the uplinks that take over from that one, in this order: one at a time carries
    // frames.
    std::vector<std::string> standby{};

    friend bool operator==(const Switch&, const Switch&) = default;
  };
  struct Tap {  // of an adapter
    std::string vm;
    std::uint32_t adapter = 1;  // 0: of the service that `vm` names, which has a RoCE port
    std::string vds;
    std::uint32_t vlan = 0;  // one of the switch's

    friend bool operator==(const Tap&, const Tap&) = default;
  };
  struct RocePort {  // of an adapter that has a tap
    std::string vm;
    std::uint32_t adapter = 1;
    model::MacAddress mac{};
    std::uint32_t making = 0;  // another number: the engine wants the port's descriptor anew

    friend bool operator==(const RocePort&, const RocePort&) = default;
  };
  struct Vmknic {  // an interface of the host itself
    std::string name;
    std::string vds;
    std::uint32_t vlan = 0;  // one of the switch's
    model::MacAddress mac{};
    std::optional<Ipv4Interface> ipv4{};

    friend bool operator==(const Vmknic&, const Vmknic&) = default;
  };
  // The uplink of a switch that a virtual InfiniBand adapter of this host makes. It is no NIC: the
  // keeper creates it as taps, and opens these for the engine.
  struct IpoibUplink {
    std::string name;          // "vmnic32"
    std::uint32_t making = 0;  // another number: the engine wants its taps' descriptors anew

    friend bool operator==(const IpoibUplink&, const IpoibUplink&) = default;
  };
  std::vector<Switch> switches{};
  std::vector<Tap> taps{};
  std::vector<Vmknic> vmknics{};
  std::vector<RocePort> roce_ports{};
  std::vector<IpoibUplink> ipoib_uplinks{};

  friend bool operator==(const SwitchPlan&, const SwitchPlan&) = default;
};

struct SwitchReport {
  struct Switch {
    std::string name;
    model::SwitchForm form = model::SwitchForm::kNone;
    std::vector<std::string> bridges{};   // of Linux
    std::vector<std::string> problems{};  // in words
    // Of a team: the uplink that carries the frames; empty: no team, or none is there.
    std::string active{};

    friend bool operator==(const Switch&, const Switch&) = default;
  };
  struct Tap {  // one that is not as it should be
    std::string vm;
    std::uint32_t adapter = 1;
    std::string problem;
    model::LinkFault fault{};

    friend bool operator==(const Tap&, const Tap&) = default;
  };
  struct Unmerged {  // a RoCE port that gets packets one by one, or those of one network protocol
    std::string vm;
    std::uint32_t adapter = 1;
    std::string why;

    friend bool operator==(const Unmerged&, const Unmerged&) = default;
  };
  struct Vmknic {  // one that is not as it should be
    std::string name;
    std::string problem;

    friend bool operator==(const Vmknic&, const Vmknic&) = default;
  };
  struct Management {  // the interface that has [cluster] address
    std::string interface;
    model::MacAddress mac{};
    std::uint32_t mtu = 0;
    std::optional<Ipv4Interface> ipv4{};  // nullopt: an IPv6 address

    friend bool operator==(const Management&, const Management&) = default;
  };
  std::vector<Switch> switches{};
  std::vector<Tap> taps{};
  std::vector<Vmknic> vmknics{};
  std::vector<Unmerged> unmerged{};
  std::vector<model::MendedLink> mended{};  // of what the plan before it wanted too
  std::optional<Management> management{};   // nullopt: none has it
  std::string problem{};                    // why nothing could be done; empty: it was
  model::LinkFault fault{};                 // the cause of it

  friend bool operator==(const SwitchReport&, const SwitchReport&) = default;
};

// The uplink of a switch and its standby uplinks, in failover order; empty: none.
std::vector<std::string> uplinks_of(const SwitchPlan::Switch& vds);
// The switch that has this uplink or standby uplink; nullptr: none.
const SwitchPlan::Switch* switch_of_uplink(const SwitchPlan& plan, std::string_view uplink);

// Errors: kResourceExhausted (longer than kMaxPlanText).
Result<std::string> print(const SwitchPlan& plan);
// The result keeps all rules: the model's rules for names and numbers; no switch, VLAN of a switch,
// tap, VMkernel interface, NIC or IPoIB uplink occurs twice, as an uplink or a standby uplink; taps
// and VMkernel interfaces are in VLANs of switches in the plan, and IPoIB uplinks are uplinks of
// these; all addresses are in private networks that do not overlap. Errors: kInvalidArgument.
Result<SwitchPlan> parse_switch_plan(std::string_view text);

// If the report is too long, why packets are not merged is left out first, then repaired
// interfaces, then problems of taps.
std::string print(const SwitchReport& report);
// Errors: kInvalidArgument.
Result<SwitchReport> parse_switch_report(std::string_view text);

}  // namespace paravane::privsep
