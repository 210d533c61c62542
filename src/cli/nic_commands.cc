// paravane network nic list, dcb status get, pauseParams list, and esxcfg-nics.

#include <fmt/core.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/esxcli_tree.h"
#include "cli/ib_nics.h"
#include "cli/machine_tables.h"
#include "model/distributed_switch.h"

namespace paravane::cli {
namespace {

model::ApiResult<std::vector<model::PhysicalNic>> list_all_nics(api::ApiClient& client) {
  auto nics = client.list_nics();
  if (!nics) return nics;
  const auto uplinks = client.list_ib_uplinks();
  if (!uplinks) return std::unexpected(uplinks.error());
  const auto adapters = client.list_ib_adapters();
  if (!adapters) return std::unexpected(adapters.error());
  return with_ib_nics(std::move(*nics), *uplinks, *adapters);
}

ExitStatus run_list_nic(const Context& context) {
  api::ApiClient client = context.client();
  const auto nics = list_all_nics(client);
  if (!nics) return report(nics.error(), client);
  fmt::print("{}", nic_table(*nics).print(context.format));
  return ExitStatus::kOk;
}

// `nic`: one of them, by either of its names; empty: all.
ExitStatus run_list_pause(const std::string& nic, const Context& context) {
  api::ApiClient client = context.client();
  auto nics = client.list_nics();
  if (!nics) return report(nics.error(), client);
  if (!nic.empty()) {
    std::erase_if(*nics, [&nic](const model::PhysicalNic& one) {
      return one.name != nic && one.linux_name != nic;
    });
    if (nics->empty()) {
      return report_failure("this host has no NIC " + nic,
                            "List the NICs with: paravane network nic list");
    }
  }
  fmt::print("{}", pause_table(*nics).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_get_dcb(const std::string& nic, const Context& context) {
  if (const Status good = model::check_interface_name(nic); !good) {
    return report_usage(good.error().message);
  }
  api::ApiClient client = context.client();
  const auto dcb = client.nic_dcb(nic);
  if (!dcb) return report(dcb.error(), client);
  const std::array records = {dcb_record(*dcb)};
  fmt::print("{}", text::print_records(records, context.format));
  return ExitStatus::kOk;
}

void add_pause_command(CLI::App& root, Run& run) {
  CLI::App& list = add_esxcli_command(
      root, "network nic pauseParams list", "List the pause parameters of NICs",
      {"network nic pauseParams list", "network nic pauseParams list -n vmnic0"});
  auto nic = std::make_shared<std::string>();
  list.add_option("-n,--nic-name", *nic, "Show only this NIC (default: all)")->type_name("NIC");
  list.callback([nic, &run] {
    run = [nic](const Context& context) { return run_list_pause(*nic, context); };
  });
}

void add_dcb_command(CLI::App& root, Run& run) {
  CLI::App& get = add_esxcli_command(root, "network nic dcb status get",
                                     "Show the Data Center Bridging of a NIC",
                                     {"network nic dcb status get -n vmnic0"});
  auto nic = std::make_shared<std::string>();
  get.add_option("-n,--nic-name", *nic, "NIC, by either of its names")
      ->type_name("NIC")
      ->required();
  get.callback(
      [nic, &run] { run = [nic](const Context& context) { return run_get_dcb(*nic, context); }; });
}

ExitStatus run_esxcfg_nics(const Context& context) {
  api::ApiClient client = context.client();
  const auto nics = list_all_nics(client);
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
  add_pause_command(root, run);
  add_dcb_command(root, run);
}

void add_esxcfg_nics(CLI::App& root, Run& run) {
  root.description("The physical NICs of this host, as esxcfg-nics of vSphere 6.5 prints them.");
  root.footer("Examples:\n  esxcfg-nics -l\nSee also paravane(1).");
  root.add_flag("-l,--list")->description("List them")->required();
  root.callback([&run] { run = run_esxcfg_nics; });
}

}  // namespace paravane::cli
