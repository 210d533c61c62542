#include "vmm/adapter_slots.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "model/interface_name.h"

namespace paravane::vmm {
namespace {

constexpr std::uint32_t kLastSlot = 0x1f;

bool is_socket_of(std::string_view path, std::string_view vm, std::uint32_t adapter) {
  return path.starts_with('/') && path.ends_with("/" + model::socket_file(vm, adapter));
}

}  // namespace

Status check_answer(const model::VmStatus& vm) {
  Status good = model::check_spec(vm.spec);
  if (good && vm.adapters.size() != vm.spec.adapters.size()) {
    good = fail(Errc::kInvalidArgument, "the number of adapter states does not match");
  }
  for (std::size_t i = 0; good && i < vm.adapters.size(); ++i) {
    const model::AdapterSpec& adapter = vm.spec.adapters[i];
    const std::string& tap = vm.adapters[i].tap;
    if (!adapter.mac) good = fail(Errc::kInvalidArgument, "an adapter has no MAC address");
    if (!is_socket_of(vm.adapters[i].socket, vm.spec.name, adapter.number)) {
      good = fail(Errc::kInvalidArgument, "a socket does not belong to the VM");
    }
    if (!tap.empty() && tap != model::tap_name(vm.spec.name, adapter.number)) {
      good = fail(Errc::kInvalidArgument, "a tap does not belong to the VM");
    }
  }
  if (good) return good;
  return fail(Errc::kInvalidArgument, "invalid response from the daemon: " + good.error().message);
}

Result<std::vector<AdapterSlot>> slots_of(const model::VmStatus& vm, std::uint32_t first_slot) {
  if (Status good = check_answer(vm); !good) return std::unexpected(good.error());
  std::vector<AdapterSlot> slots;
  for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
    const model::AdapterSpec& adapter = vm.spec.adapters[i];
    const std::uint32_t slot = first_slot + adapter.number - 1;
    if (slot > kLastSlot) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("--addr {:x}: adapter {} would be in slot {:x}, but the last slot is {:x}",
                      first_slot, adapter.number, slot, kLastSlot));
    }
    const std::string& tap = vm.adapters[i].tap;
    slots.push_back({.adapter = adapter.number,
                     .number = slot,
                     .mac = model::format_mac(*adapter.mac),
                     .socket = vm.adapters[i].socket,
                     .netdev_id = adapter.number == 1
                                      ? std::string("paravane-net")
                                      : fmt::format("paravane-net{}", adapter.number - 1),
                     .nic_id = fmt::format("paravane-nic{}", adapter.number - 1),
                     .device_id = fmt::format("paravane{}", adapter.number - 1),
                     .port_id = fmt::format("paravane-port{}", adapter.number - 1),
                     .tap = tap.empty() ? model::tap_name(vm.spec.name, adapter.number) : tap,
                     .in_port_group = !tap.empty()});
  }
  return slots;
}

nlohmann::ordered_json device_of(const AdapterSlot& slot, const std::string& bus,
                                 const std::string& address) {
  nlohmann::ordered_json device = {{"driver", "vfio-user-pci"}, {"id", slot.device_id}};
  if (!bus.empty()) device["bus"] = bus;
  device["addr"] = address;
  device["socket"] = {{"type", "unix"}, {"path", slot.socket}};
  return device;
}

std::string print(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string escape_commas(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c;
    if (c == ',') escaped += ',';
  }
  return escaped;
}

}  // namespace paravane::vmm
