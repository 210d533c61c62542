#include "model/ib_port_types.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/ib_device.h"
#include "model/machine.h"

namespace paravane::model {
namespace {

std::unexpected<Error> bad_options(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

std::vector<IbPortType> wished_types(const IbOptions& mlx4, const IbAdapter& adapter) {
  const auto standard =
      static_cast<IbPortType>(ib_value(*find_ib_module(kModuleMlx4), mlx4, kPortTypeDefault));
  std::vector<IbPortType> types(find_ib_device(adapter.device)->ports, standard);
  for (const IbPortTypeWish& wish : mlx4.port_types) {
    if (wish.bus == adapter.bus && wish.port <= types.size()) types[wish.port - 1] = wish.type;
  }
  return types;
}

bool is_allowed(const std::vector<IbPortType>& types) {
  return types.size() < 2 ||
         !(types[0] == IbPortType::kEthernet && types[1] == IbPortType::kInfiniband);
}

Status check_port_types(const IbOptions& mlx4, std::span<const IbAdapter> adapters) {
  for (const IbPortTypeWish& wish : mlx4.port_types) {
    const auto adapter = std::ranges::find(adapters, wish.bus, &IbAdapter::bus);
    if (adapter == adapters.end()) {
      std::string buses;
      for (const IbAdapter& one : adapters)
        buses += fmt::format("{}{} ({})", buses.empty() ? "" : ", ", one.bus, one.name);
      return bad_options(
          fmt::format("port_types: PCI bus {} has no InfiniBand adapter; {}", wish.bus,
                      buses.empty() ? "this host has none" : "those of this host are at " + buses));
    }
    if (wish.port > find_ib_device(adapter->device)->ports)
      return bad_options(fmt::format("port_types: adapter {} at PCI bus {} has no port {}",
                                     adapter->name, wish.bus, wish.port));
  }
  for (const IbAdapter& adapter : adapters) {
    if (!is_allowed(wished_types(mlx4, adapter)))
      return bad_options(
          fmt::format("adapter {} at PCI bus {}: port 1 ETH and port 2 IB is not allowed",
                      adapter.name, adapter.bus));
  }
  return {};
}

}  // namespace

std::string ib_ethernet_name(std::uint32_t bus, std::uint32_t port) {
  return fmt::format("{}{}.p{}", kNicPrefix, bus, port);
}

IbAdapterTypes ib_port_types(const IbOptions& mlx4, const IbAdapter& adapter) {
  IbAdapterTypes types{.ports = wished_types(mlx4, adapter)};
  const bool has_ethernet =
      std::ranges::find(types.ports, IbPortType::kEthernet) != types.ports.end();
  if (has_ethernet && !find_ib_device(adapter.device)->can_be_ethernet) {
    types.problem = fmt::format(
        "adapter {} ({}) is not capable of VPI: its ports start as InfiniBand, not as the "
        "options of module {} say",
        adapter.name, adapter.device, kModuleMlx4);
  } else if (!is_allowed(types.ports)) {
    types.problem = fmt::format(
        "adapter {}: port 1 ETH and port 2 IB is not allowed: its ports start as InfiniBand",
        adapter.name);
  }
  if (!types.problem.empty()) std::ranges::fill(types.ports, IbPortType::kInfiniband);
  return types;
}

Status check_ib_options(const IbModule& module, const IbOptions& options,
                        std::span<const IbAdapter> adapters) {
  std::size_t ports = 0;
  for (const IbAdapter& adapter : adapters) ports += find_ib_device(adapter.device)->ports;
  for (const auto& [name, numbers] : options.numbers) {
    if (ports != 0 && numbers.size() > ports)
      return bad_options(
          fmt::format("{}: {} numbers are given, and this host has {} InfiniBand "
                      "port{}",
                      name, numbers.size(), ports, ports == 1 ? "" : "s"));
  }
  if (module.name == kModuleMlx4) return check_port_types(options, adapters);
  return {};
}

}  // namespace paravane::model
