// HostUplinks: the IPoIB uplinks of this host that have a tap, by name. Their taps are read in
// turn(), all within one bound. An uplink of which a tap is lost, or could not be used, is told, so
// that it is opened again.
//
// Those of one switch are a team: a VM's address is at that one of them through which its last
// frame came, and when it comes to another, nodes of the subnet are told so. All are in the
// partitions of all VLANs of the switch, so that one that takes over need not join first.
//
// The subnet's thread only.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/turn_clock.h"
#include "subnet/host_adapter.h"
#include "subnet_host/host_uplink.h"
#include "subnet_host/lost_uplinks.h"
#include "subnet_host/uplink_tap.h"
#include "subnet_host/waiting_taps.h"

namespace paravane::subnet_host {

class HostUplinks final : private UplinkTeam {
 public:
  // `on_lost`: a tap of this uplink is gone or of no use; called from on_time(). Both outlive us.
  HostUplinks(EventLoop& loop, const TurnClock& clock,
              std::function<void(const std::string& uplink)> on_lost)
      : loop_(loop), clock_(clock), on_lost_(std::move(on_lost)) {}

  // The uplink is one of a port of `adapter`. Errors: as HostUplink::add(). With an error, and
  // where std::bad_alloc is thrown, the tap counts as lost.
  Status add(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap);
  void close(const std::string& uplink);
  void close(const std::string& uplink, std::uint16_t vlan);
  // The uplinks of an adapter, which goes.
  void forget(const subnet::HostAdapter& adapter);

  // ---- From one engine to the next ----
  std::map<std::string, ipoib::UplinkImage> images() const;
  // Uplinks whose first tap comes within ipoib::Uplink::kInheritance go on from there.
  void inherit(std::map<std::string, ipoib::UplinkImage> images);

  // nullptr: it has no tap.
  const HostUplink* find(const std::string& uplink) const;

  // Reads what VMs have sent, as far as the bounds go. Returns whether there may be more.
  bool turn() { return waiting_.turn(); }
  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  // Calls `act` with each other uplink of the same switch.
  void for_mates(const HostUplink& uplink, const std::function<void(HostUplink&)>& act);

  // ---- UplinkTeam ----
  void on_new_address(HostUplink& uplink, const ipoib::MacBytes& mac, std::uint16_t vlan) override;
  void on_new_vlan(const HostUplink& uplink, std::uint16_t vlan) override;

  Status add_tap(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap);
  // The image of a fresh uplink is used up, or too old.
  void go_on(HostUplink& fresh);

  EventLoop& loop_;
  const TurnClock& clock_;
  const std::function<void(const std::string& uplink)> on_lost_;
  WaitingTaps waiting_;
  LostUplinks lost_;
  std::map<std::string, std::unique_ptr<HostUplink>> uplinks_;
  std::map<std::string, ipoib::UplinkImage> inherited_;
  Instant inherited_until_ = Instant::min();
};

}  // namespace paravane::subnet_host
