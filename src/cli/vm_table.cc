#include "cli/vm_table.h"

#include <string>

namespace paravane::cli {
namespace {

// Of the VMM; an adapter without one has none.
control::TextTable::Cell pid_cell(const control::AdapterStatus& adapter) {
  if (adapter.pid > 0) return static_cast<std::uint64_t>(adapter.pid);
  return std::string("-");
}

}  // namespace

control::TextTable adapter_table(const std::vector<control::VmStatus>& vms) {
  control::TextTable table({"Name", "State", "Adapter", "MAC Address", "Hardware", "Protocol",
                            "Version", "Doorbells", "Connected", "Port Group", "PID", "Socket",
                            "Problem"});
  for (const control::VmStatus& vm : vms) {
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      const control::AdapterSpec& spec = vm.spec.adapters[i];
      const control::AdapterStatus& status = vm.adapters[i];
      table.add({vm.spec.name, std::string(to_string(status.state)), std::uint64_t{spec.number},
                 spec.mac ? control::format_mac(*spec.mac) : std::string(),
                 std::uint64_t{vm.spec.hw_version}, std::string(to_string(spec.protocol)),
                 std::uint64_t{vm.spec.version}, std::string(to_string(vm.spec.doorbells)),
                 spec.connected, spec.port_group, pid_cell(status), status.socket, status.problem});
    }
  }
  return table;
}

}  // namespace paravane::cli
