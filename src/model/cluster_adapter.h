// ClusterAdapter: an RDMA adapter of a VM on any host of the cluster, as its host published it.

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
