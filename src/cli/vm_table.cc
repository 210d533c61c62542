#include "cli/vm_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "api/vm_json.h"
#include "cli/json_output.h"
#include "text/text_cell.h"

namespace paravane::cli {
namespace {

using vmm::Runner;

bool has_vmm(const model::AdapterStatus& adapter) {
  return model::has_vmm(adapter.state);
}

// Of the VMM; 0: none is known.
int pid_of(const model::AdapterStatus& adapter, const Runner& runner) {
  return adapter.pid > 0 ? adapter.pid : runner.pid;
}

std::string shown_memory(std::uint64_t mib) {
  return mib % 1024 == 0 ? fmt::format("{} GiB", mib / 1024) : fmt::format("{} MiB", mib);
}

void tell_problems(const model::VmStatus& vm, const Runner& runner) {
  for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
    const std::string problem = problem_of(vm.adapters[i], runner);
    if (problem.empty()) continue;
    fmt::print(stderr, "paravane: vm {}: adapter {}: {}\n", text::printable(vm.spec.name),
               vm.spec.adapters[i].number, text::printable(problem));
  }
}

}  // namespace

bool is_attached(const model::VmStatus& vm) {
  return std::ranges::any_of(vm.adapters, has_vmm);
}

int vmm_of(const model::VmStatus& vm) {
  const auto known = std::ranges::find_if(vm.adapters, [](const auto& one) { return one.pid > 0; });
  return known == vm.adapters.end() ? 0 : known->pid;
}

std::string power_of(const model::VmStatus& vm, const Runner& runner) {
  if (runner.state == Runner::State::kRunning) return "running";
  if (is_attached(vm)) return "attached";  // by a VMM of somebody else
  return runner.state == Runner::State::kOff ? "off" : "unknown";
}

std::string problem_of(const model::AdapterStatus& adapter, const Runner& runner) {
  if (adapter.state == model::VmState::kDead || adapter.state == model::VmState::kLost) {
    const std::string why(adapter.state == model::VmState::kDead ? model::kDeadAdapter
                                                                 : model::kLostAdapter);
    return adapter.problem.empty() ? why : adapter.problem + "; " + why;
  }
  const bool lost =
      runner.state == Runner::State::kRunning && adapter.state == model::VmState::kDetached;
  if (!adapter.problem.empty() || !lost) return adapter.problem;
  return "the VM runs without this adapter until it is shut down and started again";
}

text::TextTable adapter_table(const std::vector<model::VmStatus>& vms,
                              const std::vector<Runner>& runners) {
  text::TextTable table({"Name", "State", "Adapter", "MAC Address", "Hardware", "Protocol",
                         "Version", "Doorbells", "Connected", "Port Group", "PID", "Socket",
                         "Problem", "Power"});
  for (std::size_t v = 0; v < vms.size(); ++v) {
    const model::VmStatus& vm = vms[v];
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      const model::AdapterSpec& spec = vm.spec.adapters[i];
      const model::AdapterStatus& status = vm.adapters[i];
      const int pid = pid_of(status, runners[v]);
      table.add({vm.spec.name, std::string(model::to_string(status.state)),
                 std::uint64_t{spec.number},
                 spec.mac ? model::format_mac(*spec.mac) : std::string(),
                 std::uint64_t{vm.spec.hw_version}, std::string(model::to_string(spec.protocol)),
                 std::uint64_t{vm.spec.version}, std::string(model::to_string(vm.spec.doorbells)),
                 spec.connected, spec.port_group,
                 pid > 0 ? text::TextTable::Cell(static_cast<std::uint64_t>(pid))
                         : text::TextTable::Cell(text::TextTable::None()),
                 status.socket, problem_of(status, runners[v]), power_of(vm, runners[v])});
    }
  }
  return table;
}

text::TextTable short_vm_table(const std::vector<model::VmStatus>& vms,
                               const std::vector<Runner>& runners) {
  text::TextTable table(
      {"Name", "Power", "Memory", "Adapter", "State", "MAC Address", "Port Group"});
  for (std::size_t v = 0; v < vms.size(); ++v) {
    const model::VmStatus& vm = vms[v];
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      const model::AdapterSpec& spec = vm.spec.adapters[i];
      table.add({vm.spec.name, power_of(vm, runners[v]), shown_memory(vm.spec.machine.memory_mib),
                 std::uint64_t{spec.number}, std::string(model::to_string(vm.adapters[i].state)),
                 spec.mac ? model::format_mac(*spec.mac) : std::string(),
                 spec.port_group.empty() ? std::string("-") : spec.port_group});
    }
  }
  return table;
}

Runner runner_of(const std::string& vm) {
  const auto places = vmm::Places::usual();
  return places ? places->runner(vm) : Runner{.state = Runner::State::kUnknown, .pid = 0};
}

nlohmann::json vm_json(const model::VmStatus& vm, const Runner& runner) {
  nlohmann::json json = api::to_json(vm);
  json["power"] = power_of(vm, runner);
  nlohmann::json& adapters = json["adapters"];
  for (std::size_t i = 0; i < vm.adapters.size() && i < adapters.size(); ++i) {
    const std::string problem = problem_of(vm.adapters[i], runner);
    adapters[i]["problem"] = problem;
    adapters[i]["pid"] = pid_of(vm.adapters[i], runner);
    // As the API, which has the first adapter in the VM itself, too.
    if (i == 0) json.update({{"problem", problem}, {"pid", adapters[i]["pid"]}});
  }
  return json;
}

void print_vm(const model::VmStatus& vm, const Context& context) {
  if (context.format != text::TableFormat::kJson) return print_vms({vm}, context);
  fmt::print("{}", pretty_json(vm_json(vm, runner_of(vm.spec.name))));
}

void print_vms(const std::vector<model::VmStatus>& vms, const Context& context, bool wide) {
  std::vector<Runner> runners;
  runners.reserve(vms.size());
  for (const model::VmStatus& vm : vms) runners.push_back(runner_of(vm.spec.name));
  if (context.format == text::TableFormat::kJson) {
    nlohmann::json array = nlohmann::json::array();
    for (std::size_t v = 0; v < vms.size(); ++v) array.push_back(vm_json(vms[v], runners[v]));
    fmt::print("{}", pretty_json(array));
    return;
  }
  if (wide || context.format == text::TableFormat::kCsv) {
    fmt::print("{}", adapter_table(vms, runners).print(context.format));
    return;
  }
  fmt::print("{}", short_vm_table(vms, runners).print(context.format));
  for (std::size_t v = 0; v < vms.size(); ++v) tell_problems(vms[v], runners[v]);
}

}  // namespace paravane::cli
