// Channels is the interface through which a Host controls its channels, which are the connections
// to the other hosts of its cluster, over TCP and over RDMA adapters, and the cables of its
// InfiniBand subnet to them. The daemon implements it.
//
// Control thread only.

#pragma once

#include <vector>

#include "host/channel_site.h"
#include "host/hca_choice.h"
#include "model/vmkernel.h"
#include "subnet_host/infiniband_cables.h"
#include "worker/port_table.h"

namespace paravane::host {

class Channels : public subnet_host::InfinibandCables::Maker {
 public:
  // Sets the address for channels. Channels at any other address are closed.
  virtual void set_site(const ChannelSite& site) = 0;
  // Sets the RDMA adapter that channels go over where both hosts have one.
  virtual void set_hca(const HcaChoice& choice) = 0;
  // The memory of that adapter's buffers. Without one that may be used, `device` is empty.
  virtual model::HcaMemory hca_memory() const = 0;
  // Where this host accepts channels now.
  virtual model::ChannelPlace place() const = 0;
  // The GIDs of this host's guests have changed; `gids` is the complete list.
  virtual void on_gids(const std::vector<worker::SharedGid>& gids) = 0;
  virtual void on_channel_lost(const transport_channel::LostChannel& lost) = 0;
  virtual void on_trunk(const worker::TrunkNews& news) = 0;
  // What the worker was told of the other hosts may be lost for lack of memory: it is told again.
  virtual void tell_again() = 0;
};

}  // namespace paravane::host
