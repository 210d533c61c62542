// The rules for the types of an adapter's ports (guide, 4.2.3): which types the options of module
// mlx4_en give them, and which it refuses.
//
// VPI has (IB,IB), (IB,ETH) and (ETH,ETH). An adapter that is not capable of VPI starts with
// InfiniBand at all of its ports, whatever the options say, and that is told.
//
// Pure functions; any thread.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ib_module.h"
#include "model/infiniband.h"

namespace paravane::model {

struct IbAdapterTypes {
  std::vector<IbPortType> ports{};  // of port 1 and up
  // Why these are not the ones of the options; empty: they are.
  std::string problem{};

  bool is_ethernet(std::uint32_t port) const {
    return port >= 1 && port <= ports.size() && ports[port - 1] == IbPortType::kEthernet;
  }
};

// "vmnic13.p2", as the guide calls a port of type Ethernet (4.2.3.2).
std::string ib_ethernet_name(std::uint32_t bus, std::uint32_t port);

// REQUIRES: check_ib_adapter().
IbAdapterTypes ib_port_types(const IbOptions& mlx4, const IbAdapter& adapter);

// What options of a module say of these adapters: triplets of a bus or port that is not there,
// (ETH,IB), and lists of more numbers than there are ports are refused. Without an adapter, lists
// may be of any length. REQUIRES: `options` are of `module`. Errors: kInvalidArgument.
Status check_ib_options(const IbModule& module, const IbOptions& options,
                        std::span<const IbAdapter> adapters);

}  // namespace paravane::model
