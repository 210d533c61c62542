#include "cli/vm_record.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/vm_table.h"

namespace paravane::cli {
namespace {

using text::TextRecord;

text::TextRecord adapter_record(const model::AdapterSpec& spec, const model::AdapterStatus& status,
                                const vmm::Runner& runner) {
  return {.title = {},
          .fields = {{"Adapter", std::uint64_t{spec.number}},
                     {"State", std::string(model::to_string(status.state))},
                     {"MAC Address", spec.mac ? model::format_mac(*spec.mac) : std::string()},
                     {"Protocol", std::string(model::to_string(spec.protocol))},
                     {"Connected", spec.connected},
                     {"Port Group", spec.port_group},
                     {"Socket", status.socket},
                     {"Tap", status.tap},
                     {"Problem", problem_of(status, runner)}}};
}

// Those that differ from the device's own, as --limit takes them.
std::vector<std::string> limits_of(const model::VmLimits& limits) {
  std::vector<std::string> words;
  for (const model::LimitField& field : model::kLimitFields) {
    if (const auto& limit = limits.*field.member) {
      words.push_back(fmt::format("{}={}", field.name, *limit));
    }
  }
  return words;
}

std::vector<std::string> disks_of(const model::VmMachine& machine) {
  std::vector<std::string> words;
  words.reserve(machine.disks.size());
  for (const model::Disk& disk : machine.disks) {
    words.push_back(model::describe(disk));
  }
  return words;
}

}  // namespace

text::TextRecord vm_record(const model::VmStatus& vm, const vmm::Runner& runner) {
  const model::VmMachine& machine = vm.spec.machine;
  std::vector<text::TextRecord> adapters;
  adapters.reserve(vm.adapters.size());
  for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
    adapters.push_back(adapter_record(vm.spec.adapters[i], vm.adapters[i], runner));
  }
  return {.title = vm.spec.name,
          .fields = {{"Name", vm.spec.name},
                     {"Power", power_of(vm, runner)},
                     {"Hardware Version", std::uint64_t{vm.spec.hw_version}},
                     {"Device Version", std::uint64_t{vm.spec.version}},
                     {"Doorbells", std::string(model::to_string(vm.spec.doorbells))},
                     {"Limits", limits_of(vm.spec.limits)},
                     {"Memory MiB", machine.memory_mib},
                     {"CPUs", std::uint64_t{machine.cpus}},
                     {"Accelerator", std::string(model::to_string(machine.accelerator))},
                     {"CPU Model", machine.cpu_model},
                     {"Lock Memory", machine.lock_memory},
                     {"Huge Pages", machine.huge_pages},
                     {"Disks", disks_of(machine)},
                     {"Kernel", machine.kernel},
                     {"Initrd", machine.initrd},
                     {"Append", machine.append},
                     {"QEMU Arguments", machine.qemu_arguments},
                     {"Adapters", std::move(adapters)}}};
}

}  // namespace paravane::cli
