#include "cli/vm_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "cli/vm_unit.h"
#include "control/text_cell.h"
#include "vmm/start_check.h"

namespace paravane::cli {

using control::CheckRow;
using control::Verdict;

namespace {

std::vector<CheckRow> check_our_side(const control::VmStatus& vm, Starter starter) {
  if (starter == Starter::kUs) return vmm::check_start(vm, vmm::gather_start_facts(vm, ""));
  take_vm_unit_environment();
  vmm::StartFacts facts = vmm::gather_start_facts(vm, "/system.slice");
  facts.may_lock = true;  // the unit says so itself if it may not: LimitMEMLOCK=infinity
  return vmm::check_start(vm, facts);
}

void tell(const std::string& vm, const CheckRow& row) {
  fmt::print(stderr, "paravane: vm {}: {}{}: {}\n", vm,
             row.stops_start ? "" : "warning: ", control::printable(row.check),
             control::printable(row.found));
  if (!row.cure.empty()) fmt::print(stderr, "  {}\n", control::printable(row.cure));
}

}  // namespace

control::TextTable check_table(const std::vector<CheckedVm>& vms, bool named) {
  control::TextTable table = named ? control::TextTable({"VM", "Check", "Verdict", "Found", "Cure"})
                                   : control::TextTable({"Check", "Verdict", "Found", "Cure"});
  for (const auto& [vm, rows] : vms) {
    for (const CheckRow& row : rows) {
      std::vector<control::TextTable::Cell> cells = {row.check, std::string(to_string(row.verdict)),
                                                     row.found, row.cure};
      if (named) cells.insert(cells.begin(), vm);
      table.add(std::move(cells));
    }
  }
  return table;
}

control::ApiResult<std::vector<CheckRow>> check_whole_vm(const control::VmStatus& vm,
                                                         const Context& context, Starter starter) {
  control::ApiClient client = context.client();
  auto rows = client.check_vm(vm.spec.name);
  if (!rows) return rows;
  std::ranges::move(check_our_side(vm, starter), std::back_inserter(*rows));
  return rows;
}

ExitStatus check_before_start(const control::VmStatus& vm, const Context& context,
                              Starter starter) {
  control::ApiClient client = context.client();
  auto rows = client.check_vm(vm.spec.name);
  if (!rows) {
    // An older daemon knows no such request. Any other that does not answer may know why not.
    if (rows.error().code != control::ApiErrorCode::kInvalidRequest) {
      return report(rows.error(), client);
    }
    rows.emplace();
  }
  std::ranges::move(check_our_side(vm, starter), std::back_inserter(*rows));
  for (const CheckRow& row : *rows) {
    if (row.verdict != Verdict::kOk && !row.stops_start) tell(vm.spec.name, row);
  }
  ExitStatus status = ExitStatus::kOk;
  for (const CheckRow& row : *rows) {  // why not is said last
    if (!row.stops_start) continue;
    tell(vm.spec.name, row);
    status = ExitStatus::kFailed;
  }
  return status;
}

}  // namespace paravane::cli
