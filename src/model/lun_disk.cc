#include "model/lun_disk.h"

#include <fmt/core.h>

#include <algorithm>

namespace paravane::model {
namespace {

bool has_lun(const VmSpec& vm, std::string_view lun) {
  return std::ranges::any_of(vm.machine.disks,
                             [lun](const Disk& disk) { return disk.is_lun() && disk.lun == lun; });
}

std::string vmhba_of(const ScsiDevice& device) {
  return device.paths.empty() ? std::string() : device.paths.front().vmhba;
}

std::string rescan_of(const ScsiDevice& device) {
  const std::string vmhba = vmhba_of(device);
  return vmhba.empty() ? "paravane storage core adapter rescan --all"
                       : fmt::format("paravane storage core adapter rescan -A {}", vmhba);
}

std::optional<LunProblem> problem_of(const VmSpec& vm, const Disk& disk,
                                     std::span<const ScsiDevice> devices) {
  const auto say = [&disk](std::string text, std::string cure) {
    return LunProblem{.lun = disk.lun,
                      .text = fmt::format("LUN {}: {}", disk.lun, text),
                      .cure = std::move(cure)};
  };
  const auto found = std::ranges::find(devices, disk.lun, &ScsiDevice::name);
  if (found == devices.end())
    return say("this host has no such LUN",
               "paravane storage core adapter rescan --all   # then: paravane storage core device "
               "list");
  const ScsiDevice& device = *found;
  if (!device.vm.empty() && device.vm != vm.name)
    return say(fmt::format("it is a disk of vm {}", device.vm),
               fmt::format("paravane vm show {}", device.vm));
  if (!device.problem.empty()) return say(device.problem, rescan_of(device));
  if (device.working_path.empty())
    return say("no path to it works",
               fmt::format("paravane storage core path list -d {}", device.name));
  if (device.is_open)
    return say("it is in use: a program is connected to its socket " + device.socket,
               "end that program");
  if (device.socket.empty()) return say("it is not served to VMs", rescan_of(device));
  if (device.is_read_only && !disk.read_only)
    return say("it is read-only",
               fmt::format("paravane vm set {} --disk {}{},readonly   # and its other disks",
                           vm.name, kLunWord, disk.lun));
  return std::nullopt;
}

}  // namespace

ApiResult<void> check_luns(const VmSpec& vm, std::span<const VmSpec> vms) {
  for (const VmSpec& other : vms) {
    if (other.name == vm.name) continue;
    for (const Disk& disk : vm.machine.disks) {
      if (!disk.is_lun() || !has_lun(other, disk.lun)) continue;
      return refuse(ApiErrorCode::kInUse,
                    fmt::format("vm {}: LUN {} is a disk of vm {}", vm.name, disk.lun, other.name),
                    fmt::format("Choose another LUN, or take it from vm {} with: paravane vm set "
                                "{} --disk ...",
                                other.name, other.name));
    }
  }
  return {};
}

std::vector<LunProblem> lun_problems(const VmSpec& vm, std::span<const ScsiDevice> devices) {
  std::vector<LunProblem> problems;
  for (const Disk& disk : vm.machine.disks) {
    if (!disk.is_lun()) continue;
    if (auto problem = problem_of(vm, disk, devices)) problems.push_back(std::move(*problem));
  }
  return problems;
}

LunSockets lun_sockets(const VmSpec& vm, std::span<const ScsiDevice> devices,
                       std::string_view directory) {
  LunSockets sockets;
  for (const Disk& disk : vm.machine.disks) {
    if (!disk.is_lun()) continue;
    const auto found = std::ranges::find(devices, disk.lun, &ScsiDevice::name);
    const bool is_told = found != devices.end() && found->socket.starts_with('/');
    sockets[disk.lun] = is_told ? found->socket : lun_socket(directory, disk.lun);
  }
  return sockets;
}

bool has_luns(const VmSpec& vm) {
  return std::ranges::any_of(vm.machine.disks, &Disk::is_lun);
}

}  // namespace paravane::model
