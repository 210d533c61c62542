// paravane network vswitch dvs vmware list.

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/nearest_name.h"
#include "cli/dvs_records.h"
#include "cli/esxcli_tree.h"

namespace paravane::cli {
namespace {

ExitStatus no_such_switch(const std::string& name, const std::vector<text::TextRecord>& records) {
  std::vector<std::string> names;
  names.reserve(records.size());
  for (const auto& record : records) names.push_back(record.title);
  return report_failure(fmt::format("this host is not in a switch named {}", name),
                        do_you_mean(name, names) + "List the switches with: paravane vds list");
}

ExitStatus run_list_dvs(const std::string& name, const Context& context) {
  api::ApiClient client = context.client();
  const auto switches = client.list_switches();
  if (!switches) return report(switches.error(), client);
  const auto groups = client.list_port_groups();
  if (!groups) return report(groups.error(), client);
  const auto nics = client.list_nics();
  if (!nics) return report(nics.error(), client);
  std::vector<text::TextRecord> records = dvs_records(*switches, *groups, *nics);
  if (!name.empty()) {
    const auto found = std::ranges::find(records, name, &text::TextRecord::title);
    if (found == records.end()) return no_such_switch(name, records);
    records = {*found};
  }
  fmt::print("{}", text::print_records(records, context.format));
  return ExitStatus::kOk;
}

}  // namespace

void add_dvs_commands(CLI::App& root, Run& run) {
  CLI::App& list = add_esxcli_command(
      root, "network vswitch dvs vmware list",
      "List the switches that this host is in; prints nothing if there are none",
      {"network vswitch dvs vmware list", "network vswitch dvs vmware list -v lan"});
  auto name = std::make_shared<std::string>();
  list.add_option("-v,--vds-name", *name, "Show this switch only")->type_name("SWITCH");
  list.callback([name, &run] {
    run = [name](const Context& context) { return run_list_dvs(*name, context); };
  });
}

}  // namespace paravane::cli
