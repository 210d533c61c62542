#include "cli/vm_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "cli/vm_unit.h"
#include "text/text_cell.h"
#include "vmm/start_check.h"

namespace paravane::cli {

using model::CheckRow;
using model::Verdict;

namespace {

std::vector<model::CheckRow> check_our_side(const model::VmStatus& vm, Starter starter) {
  if (starter == Starter::kUs) return vmm::check_start(vm, vmm::gather_start_facts(vm, ""));
  take_vm_unit_environment();
  vmm::StartFacts facts = vmm::gather_start_facts(vm, "/system.slice");
  facts.may_lock = true;  // the unit says so itself if it may not: LimitMEMLOCK=infinity
  return vmm::check_start(vm, facts);
}

void tell(const std::string& vm, const model::CheckRow& row) {
  fmt::print(stderr, "paravane: vm {}: {}{}: {}\n", vm,
             row.stops_start ? "" : "warning: ", text::printable(row.check),
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

model::ApiResult<std::vector<model::CheckRow>> check_whole_vm(const model::VmStatus& vm,
                                                              const Context& context,
                                                              Starter starter) {
  api::ApiClient client = context.client();
  auto rows = client.check_vm(vm.spec.name);
  if (!rows) return rows;
  std::ranges::move(check_our_side(vm, starter), std::back_inserter(*rows));
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
  std::ranges::move(check_our_side(vm, starter), std::back_inserter(*rows));
  for (const model::CheckRow& row : *rows) {
    if (row.verdict != model::Verdict::kOk && !row.stops_start) tell(vm.spec.name, row);
  }
  ExitStatus status = ExitStatus::kOk;
  for (const model::CheckRow& row : *rows) {  // why not is said last
    if (!row.stops_start) continue;
    tell(vm.spec.name, row);
    status = ExitStatus::kFailed;
  }
  return status;
}

}  // namespace paravane::cli
