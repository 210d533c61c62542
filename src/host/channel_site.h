// ChannelSite holds the address at which this host accepts channels (TCP connections) from the
// other hosts of its cluster, as the operator configured it. If the host accepts no channels, it
// holds the reason.

#pragma once

#include <string>

#include "model/closed_channel.h"

namespace paravane::host {

struct ChannelSite {
  std::string address{};          // IPv4 or IPv6; empty: no channels are accepted
  std::string vmknic{};           // the VMkernel interface that has the address
  model::ClosedChannel closed{};  // why no channels are accepted

  friend bool operator==(const ChannelSite&, const ChannelSite&) = default;
};

}  // namespace paravane::host
