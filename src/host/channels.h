// Channels: the Host's interface to the code that opens TCP channels to other hosts of a cluster.
//
// Control thread only.

#pragma once

#include <vector>

#include "host/channel_site.h"
#include "model/vmkernel.h"
#include "worker/port_table.h"

namespace paravane::host {

class Channels {
 public:
  virtual ~Channels() = default;
  // Where channels may be from now on. Those that are elsewhere are closed.
  virtual void set_site(const ChannelSite& site) = 0;
  // Where they are now.
  virtual model::ChannelPlace place() const = 0;
  // The GIDs of this host's guests are these now.
  virtual void on_gids(const std::vector<worker::SharedGid>& gids) = 0;
  virtual void on_channel_lost(const transport_tcp::LostChannel& lost) = 0;
};

}  // namespace paravane::host
