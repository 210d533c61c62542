// paravane network nic list, and esxcfg-nics.

#include <fmt/core.h>

#include "cli/esxcli_tree.h"
#include "cli/machine_tables.h"

namespace paravane::cli {
namespace {

ExitStatus run_list_nic(const Context& context) {
  api::ApiClient client = context.client();
  const auto nics = client.list_nics();
  if (!nics) return report(nics.error(), client);
  fmt::print("{}", nic_table(*nics).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_esxcfg_nics(const Context& context) {
  api::ApiClient client = context.client();
  const auto nics = client.list_nics();
  if (!nics) return report(nics.error(), client);
  const bool as_table = context.format == text::TableFormat::kTable;
  fmt::print("{}", as_table ? esxcfg_nics(*nics) : nic_table(*nics).print(context.format));
  return ExitStatus::kOk;
}

}  // namespace

void add_nic_commands(CLI::App& root, Run& run) {
  add_esxcli_command(root, "network nic list", "List the physical NICs of this host",
                     {"network nic list", "--formatter=json network nic list"})
      .callback([&run] { run = run_list_nic; });
}

void add_esxcfg_nics(CLI::App& root, Run& run) {
  root.description("The physical NICs of this host, as esxcfg-nics of vSphere 6.5 prints them.");
  root.footer("Examples:\n  esxcfg-nics -l\nSee also paravane(1).");
  root.add_flag("-l,--list")->description("List them")->required();
  root.callback([&run] { run = run_esxcfg_nics; });
}

}  // namespace paravane::cli
