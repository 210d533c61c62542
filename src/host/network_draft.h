// NetworkDraft: an inventory that keeps nothing: it takes down what a change would write,
// for whoever can write it.
//
// Owner thread only.

#pragma once

#include <optional>
#include <utility>

#include "control/network_inventory.h"
#include "host/network_change.h"

namespace paravane::host {

class NetworkDraft final : public control::NetworkInventory {
 public:
  explicit NetworkDraft(control::Network network) : network_(std::move(network)) {}

  control::ApiResult<control::Network> read_network() override { return network_; }
  // Errors: kLimitReached (it is too large for a document).
  control::ApiResult<void> put_switch(const control::DistributedSwitch& vds) override;
  control::ApiResult<void> erase_switch(const std::string& name) override;
  control::ApiResult<void> put_port_group(const control::PortGroup& group) override;
  control::ApiResult<void> erase_port_group(const std::string& name) override;

  // nullopt: there is none.
  const std::optional<NetworkChange>& change() const { return change_; }

 private:
  control::Network network_;
  std::optional<NetworkChange> change_;
};

}  // namespace paravane::host
