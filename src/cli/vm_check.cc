#include "cli/vm_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/vm_check_json.h"
#include "cli/vm_unit.h"
#include "text/text_cell.h"
#include "vmm/network_check.h"
#include "vmm/start_check.h"

namespace paravane::cli {

using model::CheckRow;

namespace {

std::vector<model::CheckRow> check_our_side(const model::VmStatus& vm, api::ApiClient& client,
                                            Starter starter) {
  std::optional<std::vector<model::ScsiDevice>> luns;
  if (model::has_luns(vm.spec)) {
    auto devices = client.list_scsi_devices();
    if (devices) luns = std::move(*devices);
  }
  if (starter == Starter::kUs)
    return vmm::check_start(vm, vmm::gather_start_facts(vm, "", std::move(luns)));
  take_vm_unit_environment();
  vmm::StartFacts facts = vmm::gather_start_facts(vm, "/system.slice", std::move(luns));
  facts.may_lock = true;  // the unit says so itself if it may not: LimitMEMLOCK=infinity
  return vmm::check_start(vm, facts);
}

// What of this host's the VM's frames pass: its taps, and of the switches they are on bridges
// and uplinks. Empty: it is in no port group.
std::vector<std::string> links_of(const model::VmStatus& vm, api::ApiClient& client) {
  std::vector<std::string> links;
  for (const model::AdapterStatus& adapter : vm.adapters) {
    if (!adapter.tap.empty()) links.push_back(adapter.tap);
  }
  if (links.empty()) return links;
  const auto switches = client.list_switches();
  const auto groups = client.list_port_groups();
  if (!switches || !groups) return links;
  for (const model::SwitchStatus& vds : *switches) {
    const bool used = std::ranges::any_of(*groups, [&](const model::PortGroupStatus& group) {
      return group.spec.vds == vds.spec.name &&
             std::ranges::count(vm.spec.adapters, group.spec.name,
                                &model::AdapterSpec::port_group) != 0;
    });
    if (!used) continue;
    links.insert(links.end(), vds.bridges.begin(), vds.bridges.end());
    const std::vector<std::string> uplinks = model::uplinks_of(vds.spec, vds.host);
    links.insert(links.end(), uplinks.begin(), uplinks.end());
  }
  return links;
}

void check_host_network(const model::VmStatus& vm, api::ApiClient& client,
                        std::vector<model::CheckRow>& rows) {
  const std::vector<std::string> links = links_of(vm, client);
  if (links.empty()) return;
  std::ranges::move(vmm::check_network(vmm::gather_network_facts(links)), std::back_inserter(rows));
}

void warn(const std::string& vm, const model::CheckRow& row) {
  fmt::print(stderr, "paravane: vm {}: warning: {}: {}\n", vm, text::printable(row.check),
             text::printable(row.found));
  if (!row.cure.empty()) fmt::print(stderr, "  {}\n", text::printable(row.cure));
}

}  // namespace

text::TextTable check_table(const std::vector<CheckedVm>& vms, bool named) {
  text::TextTable table = named ? text::TextTable({"VM", "Check", "Verdict", "Found", "Cure"})
                                : text::TextTable({"Check", "Verdict", "Found", "Cure"});
  for (const auto& [vm, rows] : vms) {
    for (const model::CheckRow& row : rows) {
      std::vector<text::TextTable::Cell> cells = {
          row.check, std::string(model::to_string(row.verdict)), row.found, row.cure};
      if (named) cells.insert(cells.begin(), vm);
      table.add(std::move(cells));
    }
  }
  return table;
}

nlohmann::json checks_json(const std::vector<CheckedVm>& vms) {
  nlohmann::json array = nlohmann::json::array();
  for (const auto& [vm, rows] : vms) {
    for (const model::CheckRow& row : rows) {
      nlohmann::json json = api::to_json(row);
      json["vm"] = vm;
      array.push_back(std::move(json));
    }
  }
  return array;
}

model::ApiResult<std::vector<model::CheckRow>> check_whole_vm(const model::VmStatus& vm,
                                                              const Context& context,
                                                              Starter starter) {
  api::ApiClient client = context.client();
  auto rows = client.check_vm(vm.spec.name);
  if (!rows) return rows;
  check_host_network(vm, client, *rows);
  std::ranges::move(check_our_side(vm, client, starter), std::back_inserter(*rows));
  return rows;
}

ExitStatus check_before_start(const model::VmStatus& vm, const Context& context, Starter starter) {
  api::ApiClient client = context.client();
  auto rows = client.check_vm(vm.spec.name);
  if (!rows) {
    // An older daemon knows no such request. Any other that does not answer may know why not.
    if (rows.error().code != model::ApiErrorCode::kInvalidRequest) {
      return report(rows.error(), client);
    }
    rows.emplace();
  }
  check_host_network(vm, client, *rows);
  std::ranges::move(check_our_side(vm, client, starter), std::back_inserter(*rows));
  for (const model::CheckRow& row : *rows) {
    if (row.verdict != model::Verdict::kOk && !row.stops_start) warn(vm.spec.name, row);
  }
  ExitStatus status = ExitStatus::kOk;
  for (const model::CheckRow& row : *rows) {  // why not is said last
    if (!row.stops_start) continue;
    status =
        report_failure(fmt::format("vm {}: {}: {}", vm.spec.name, row.check, row.found), row.cure);
  }
  return status;
}

}  // namespace paravane::cli
