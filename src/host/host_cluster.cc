// Host: what it tells the other hosts of its cluster, and what it may not do without
// them.

#include <fmt/core.h>

#include "host/host.h"

namespace paravane::host {

using model::ApiResult;

model::ApiResult<void> Host::check_cluster() const {
  if (config_.cluster == nullptr) return {};
  return config_.cluster->check_change();
}

model::ApiResult<void> Host::check_mac(const model::MacAddress& mac) const {
  if (config_.cluster == nullptr) return {};
  const auto owner = config_.cluster->mac_owner_elsewhere(mac);
  if (!owner) return {};
  return model::refuse(
      model::ApiErrorCode::kMacInUse,
      fmt::format("MAC address {} belongs to adapter {} of host {}", model::format_mac(mac),
                  inventory::format_adapter(owner->adapter), owner->host),
      "Choose another address, or omit it to let the daemon choose one.");
}

std::set<std::string> Host::members() const {
  if (config_.cluster == nullptr) return {};
  return config_.cluster->members();
}

void Host::on_view(const std::shared_ptr<const inventory::View>& view) {
  if (network_->follow(config_.cluster->host_name(), view)) {
    for (const auto& [name, vm] : vms_) {
      for (const model::AdapterSpec& adapter : vm.spec.adapters) {
        worker_->post([this, port = model::AdapterName{name, adapter.number},
                       segment = network_->segment_of(name, adapter)] {
          ports_->set_segment(port, segment);
        });
      }
    }
  }
}

void Host::set_channels(Channels* channels) {
  channels_ = channels;
  if (channels_ != nullptr) channels_->set_site(vmkernel_->site());
  infiniband_->cables().set_maker(channels_);
}

void Host::look_for_hca() {
  if (channels_ == nullptr) return;
  const auto machine = machine_->look();
  if (machine) channels_->set_hca(choose_hca(vmkernel_->channel_nic(), *machine));
}

void Host::tell_cluster() const {
  if (config_.cluster == nullptr) return;
  std::map<model::AdapterName, inventory::AdapterInfo> adapters;
  if (storage_) adapters = storage_->in_port_groups();
  for (const auto& [name, vm] : vms_) {
    for (const model::AdapterSpec& adapter : vm.spec.adapters) {
      adapters[{.vm = name, .number = adapter.number}] = {.mac = *adapter.mac,
                                                          .port_group = adapter.port_group};
    }
  }
  config_.cluster->set_adapters(std::move(adapters));
}

}  // namespace paravane::host
