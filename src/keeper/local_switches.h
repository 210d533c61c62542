// LocalSwitches is the interface for code that creates the distributed switches in the keeper's own
// process. The interface also reports which addresses and interfaces belong to the switches.
//
// One thread. Calls block for a bounded time.

#pragma once

#include <vector>

#include "base/ipv4_interface.h"
#include "ethernet/link_news.h"
#include "ethernet/switch_links.h"
#include "keeper/ipoib_uplinks.h"
#include "keeper/roce_ports.h"
#include "privsep/switch_maker.h"

namespace paravane::keeper {

class LocalSwitches : public privsep::SwitchMaker {
 public:
  // The addresses of the VMkernel interfaces of the last plan.
  virtual std::vector<Ipv4Interface> addresses() const = 0;
  // The RoCE ports that were opened since the last call.
  virtual std::vector<OpenedRocePort> take_opened_ports() = 0;
  // The engine did not get a port.
  virtual void take_back(const OpenedRocePort& port) = 0;
  // The same for the taps of IPoIB uplinks.
  virtual std::vector<OpenedUplinkTap> take_opened_taps() = 0;
  virtual void take_back(const OpenedUplinkTap& tap) = 0;
  // Another engine runs, which has none of the ports and taps: the next plan opens all again.
  virtual void take_back_all() = 0;
  // NICs as they were last seen, by the names that plans give them. With it, those that were
  // renamed are found by another process, too.
  virtual ethernet::KnownNics known() const = 0;
  virtual void know(ethernet::KnownNics nics) = 0;
  // The interfaces whose changes may mean that the switches no longer match the last plan.
  virtual const ethernet::LinkFilter& about() const = 0;
};

}  // namespace paravane::keeper
