// NetworkDraft is a NetworkInventory that stores nothing. It records the change that an operation
// would write, so that other code can write it to the cluster.
//
// Owner thread only.

#pragma once

#include <optional>
#include <utility>

#include "host/network_change.h"
#include "store/network_inventory.h"

namespace paravane::host {

class NetworkDraft final : public store::NetworkInventory {
 public:
  explicit NetworkDraft(model::Network network) : network_(std::move(network)) {}

  model::ApiResult<model::Network> read_network() override { return network_; }
  // Errors: kLimitReached (it is too large for a document).
  model::ApiResult<void> put_switch(const model::DistributedSwitch& vds) override;
  model::ApiResult<void> erase_switch(const std::string& name) override;
  model::ApiResult<void> put_port_group(const model::PortGroup& group) override;
  model::ApiResult<void> erase_port_group(const std::string& name) override;

  // nullopt: nothing was changed.
  const std::optional<NetworkChange>& change() const { return change_; }

 private:
  model::Network network_;
  std::optional<NetworkChange> change_;
};

}  // namespace paravane::host
