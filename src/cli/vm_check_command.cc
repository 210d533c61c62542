// paravane vm check.

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/vm_check.h"
#include "cli/vm_unit.h"

namespace paravane::cli {
namespace {

struct CheckOptions {
  std::string name;
  bool all = false;
};

model::ApiResult<std::vector<model::VmStatus>> asked_for(const CheckOptions& options,
                                                         api::ApiClient& client) {
  if (options.all) return client.list_vms();
  auto vm = client.find_vm(options.name);
  if (!vm) return std::unexpected(vm.error());
  return std::vector{std::move(*vm)};
}

ExitStatus run_check(const CheckOptions& options, const Context& context) {
  if (options.all == !options.name.empty()) return report_usage("specify one VM, or use --all");
  if (!options.all) {
    if (const Status good = model::check_name(options.name); !good) {
      return report_usage(fmt::format("vm {}: {}", options.name, good.error().message));
    }
  }
  api::ApiClient client = context.client();
  const auto vms = asked_for(options, client);
  if (!vms) return report(vms.error(), client);
  const Starter starter = has_vm_unit(context) ? Starter::kUnit : Starter::kUs;
  std::vector<CheckedVm> checked;
  bool failed = false;
  for (const model::VmStatus& vm : *vms) {
    auto rows = check_whole_vm(vm, context, starter);
    if (!rows) return report(rows.error(), client);
    failed = failed || std::ranges::find(*rows, model::Verdict::kFailed,
                                         &model::CheckRow::verdict) != rows->end();
    checked.emplace_back(vm.spec.name, std::move(*rows));
  }
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(checks_json(checked))
                           : check_table(checked, options.all).print(context.format));
  if (std::fflush(stdout) != 0) return ExitStatus::kFailed;
  return failed ? ExitStatus::kFailed : ExitStatus::kOk;
}

}  // namespace

void add_vm_check_command(CLI::App& vm, Run& run) {
  CLI::App* check = vm.add_subcommand("check", "Check whether a VM has what it needs to start");
  auto options = std::make_shared<CheckOptions>();
  check->add_option("NAME", options->name, "Name of the VM");
  check->add_flag("--all", options->all, "Check all VMs of this host");
  check->footer(
      "A check that failed or warns is shown with a command that fixes the problem;\n"
      "\"# on h2\" at its end names the host to run it on. Exit status: 1 if a check failed, "
      "otherwise 0.\n"
      "Examples:\n"
      "  paravane vm check db1\n"
      "  paravane vm check --all --formatter=json");
  check->callback([options, &run] {
    run = [options](const Context& context) { return run_check(*options, context); };
  });
}

}  // namespace paravane::cli
