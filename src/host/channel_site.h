// The address for the channel to other hosts, as configured by the operator, or the reason why
// there is no such address.

#pragma once

#include <string>

#include "model/closed_channel.h"

namespace paravane::host {

struct ChannelSite {
  std::string address{};          // IPv4 or IPv6; empty: nowhere
  std::string vmknic{};           // whose address it is
  model::ClosedChannel closed{};  // why it is nowhere

  friend bool operator==(const ChannelSite&, const ChannelSite&) = default;
};

}  // namespace paravane::host
