// IpoibUplinks opens the taps of IPoIB uplinks for the engine. It runs in the keeper (the
// privileged process), after the switches of the same plan were made, and the taps with them. It
// remembers which taps the engine has, and opens one again only if its interface was replaced, or
// the engine wants it otherwise.
//
// The engine is their user, since it moves frames between a tap and a port of a virtual InfiniBand
// adapter. What it writes to a tap comes into the switch as from a cable. So only an uplink that
// the configuration file lists has taps, which SwitchBuilder sees to.
//
// One thread. Blocks until the kernel responds.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "privsep/switch_plan.h"

namespace paravane::keeper {

inline constexpr std::size_t kMaxUplinkTaps = 64;  // of a host

// A tap that a switch has for its IPoIB uplink, or for a VLAN of it.
struct UplinkTap {
  std::string name;    // of the interface: "vmnic32+10"
  std::string uplink;  // "vmnic32"
  std::string vds;     // the switch
  // Of its frames, which have no tag. With `tagged` 0, or model::kGuestVlans if its bridge is that
  // of VMs that tag their frames themselves.
  std::uint32_t vlan = 0;
  bool tagged = false;       // carries the frames of all VLANs, with their tags, and those without
  std::uint32_t mtu = 1500;  // of the switch
  std::uint32_t making = 0;  // of the plan

  friend bool operator==(const UplinkTap&, const UplinkTap&) = default;
};

// One for the engine.
struct OpenedUplinkTap {
  UplinkTap wanted;
  UniqueFd tap;
};

class IpoibUplinks {
 public:
  // Opens those of `taps` that the engine does not have, but none with a problem (`bad`: names of
  // interfaces). What goes wrong is added to `report` as a problem of the switch. One that the
  // engine wants anew may still be open there, as it closes the former one when it hears of it:
  // that is a problem only if it is so at the next call, too.
  void open(const std::vector<UplinkTap>& taps, const std::set<std::string>& bad,
            privsep::SwitchReport& report);

  // Whether a tap of the uplink was opened, or is to be, and the engine does not have it yet.
  bool is_on_its_way(const std::string& uplink) const;
  // The taps that were opened since the last call.
  std::vector<OpenedUplinkTap> take_opened() { return std::exchange(opened_, {}); }
  // The engine did not get a tap. The next open() opens it again.
  void take_back(const OpenedUplinkTap& tap) { given_.erase(tap.wanted.name); }
  // Another engine runs, which has none of the taps. The next open() opens all again.
  void take_back_all() { given_.clear(); }

 private:
  void open_one(const UplinkTap& tap, privsep::SwitchReport& report);

  // What the engine has, by the name of the interface.
  struct Given {
    unsigned index = 0;  // of the interface
    UplinkTap wanted;

    friend bool operator==(const Given&, const Given&) = default;
  };
  std::map<std::string, Given> given_;
  // Those that the engine had open when they were to be opened anew, as they were wanted.
  std::map<std::string, UplinkTap> awaited_;
  std::vector<OpenedUplinkTap> opened_;
};

}  // namespace paravane::keeper
