// paravane-machine: what the keeper sees of the machine that it runs on, in a kernel that
// is not the host's, as paravane shows it: with the words of its commands (nics, pause,
// devices, protocols, stats vmrdma0). An `uplink=NIC` before them names a NIC that is no hardware.

#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <string_view>

#include "cli/machine_tables.h"
#include "keeper/machine_probe.h"
#include "store/device_numbers.h"

namespace {

using namespace paravane;

template <typename Device>
void number(std::vector<Device>& devices, std::string_view prefix) {
  store::DeviceNumbers numbers(prefix, {});
  for (Device& device : devices) device.name = numbers.name({device.identity}).front();
}

int show_stats(keeper::MachineProbe& host, const model::Machine& machine, std::string_view name) {
  const auto& devices = machine.rdma_devices;
  const auto device = std::ranges::find(devices, name, &model::RdmaDevice::name);
  if (device == devices.end()) return 1;
  const auto stats = host.read_stats(device->linux_name, device->port);
  if (!stats) return 1;
  const std::array records = {cli::rdma_stats_record(*stats)};
  std::cout << print_records(records, text::TableFormat::kTable);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  keeper::MachineProbeConfig config;
  constexpr std::string_view kUplink = "uplink=";
  while (!words.empty() && words.front().starts_with(kUplink)) {
    config.uplinks.insert(words.front().substr(kUplink.size()));
    words.erase(words.begin());
  }
  keeper::MachineProbe host(config);
  auto machine = host.look();
  if (!machine) {
    std::cerr << machine.error().message << '\n';
    return 1;
  }
  number(machine->nics, model::kNicPrefix);
  number(machine->rdma_devices, model::kRdmaPrefix);
  for (model::RdmaDevice& device : machine->rdma_devices) {
    const auto nic =
        std::ranges::find(machine->nics, device.paired_link, &model::PhysicalNic::linux_name);
    if (nic != machine->nics.end()) device.paired_uplink = nic->name;
  }
  const std::string what = words.empty() ? "" : words.front();
  const auto format = text::TableFormat::kTable;
  if (what == "nics") std::cout << cli::nic_table(machine->nics).print(format);
  if (what == "pause") std::cout << cli::pause_table(machine->nics).print(format);
  if (what == "devices") std::cout << cli::rdma_device_table(machine->rdma_devices).print(format);
  if (what == "protocols") {
    std::cout << cli::rdma_protocol_table(machine->rdma_devices).print(format);
  }
  if (what == "stats" && words.size() == 2) return show_stats(host, *machine, words[1]);
  return 0;
}
