// ClusterAdapter describes an RDMA adapter of a VM on any host of the cluster. The host of the
// adapter has published these values.

#pragma once

#include <string>

#include "model/adapter_name.h"
#include "model/mac_address.h"

namespace paravane::model {

struct ClusterAdapter {
  std::string host;
  AdapterName adapter;
  MacAddress mac{};
  std::string port_group{};  // empty: none

  friend bool operator==(const ClusterAdapter&, const ClusterAdapter&) = default;
};

}  // namespace paravane::model
