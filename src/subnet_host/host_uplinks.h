// HostUplinks: the IPoIB uplinks of this host that have a tap, by name.
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
#include "subnet_host/uplink_tap.h"

namespace paravane::subnet_host {

class HostUplinks {
 public:
  // `on_lost`: a tap of this uplink is gone. Both outlive us.
  HostUplinks(EventLoop& loop, const TurnClock& clock,
              std::function<void(const std::string& uplink)> on_lost)
      : loop_(loop), clock_(clock), on_lost_(std::move(on_lost)) {}

  // The uplink is one of a port of `adapter`. Errors: as HostUplink::add().
  Status add(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap);
  void close(const std::string& uplink) { uplinks_.erase(uplink); }
  void close(const std::string& uplink, std::uint16_t vlan);
  // The uplinks of an adapter, which goes.
  void forget(const subnet::HostAdapter& adapter);

  // nullptr: it has no tap.
  const HostUplink* find(const std::string& uplink) const;

  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  EventLoop& loop_;
  const TurnClock& clock_;
  const std::function<void(const std::string& uplink)> on_lost_;
  std::map<std::string, std::unique_ptr<HostUplink>> uplinks_;
};

}  // namespace paravane::subnet_host
