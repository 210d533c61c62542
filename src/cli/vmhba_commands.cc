// paravane infiniband vmhba list, set; infiniband target list, add, remove.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/storage_json.h"
#include "base/ipv4_interface.h"
#include "base/nearest_name.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/storage_actions.h"
#include "cli/storage_tables.h"

namespace paravane::cli {

using model::Vmhba;

namespace {

constexpr std::string_view kNoneSetting = "none";

struct VmhbaOptions {
  std::string name;
  // Not given: it stays as it is.
  std::optional<std::string> port_group;
  std::optional<std::string> ipv4;
  std::optional<std::string> gateway;
};

struct TargetOptions {
  std::string vmhba;
  std::string address;
  std::string id_ext;
  std::string ioc_guid;
  std::optional<std::string> service;
  std::optional<std::uint16_t> port;
  std::uint32_t number = 0;
  bool force = false;
};

void set_word(const std::optional<std::string>& word, std::string& value) {
  if (word) value = *word == kNoneSetting ? "" : *word;
}

ExitStatus run_list_vmhbas(const Context& context) {
  api::ApiClient client = context.client();
  const auto vmhbas = client.list_vmhbas();
  if (!vmhbas) return report(vmhbas.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<Vmhba>(*vmhbas, api::to_json)
                           : vmhba_table(*vmhbas).print(context.format));
  if (vmhbas->empty()) note_no_vmhbas(client, context);
  return ExitStatus::kOk;
}

ExitStatus run_set_vmhba(const VmhbaOptions& options, const Context& context) {
  if (const Status good = model::check_vmhba_name(options.name); !good)
    return report_usage(good.error().message);
  if (!options.port_group && !options.ipv4 && !options.gateway)
    return report_usage("nothing is to be set: give --port-group, --ipv4 or --gateway");
  api::ApiClient client = context.client();
  const auto vmhbas = client.list_vmhbas();
  if (!vmhbas) return report(vmhbas.error(), client);
  const auto found = std::ranges::find(*vmhbas, options.name, &Vmhba::name);
  if (found == vmhbas->end())
    return report_failure("this host has no storage adapter " + options.name,
                          "List the storage adapters with: paravane infiniband vmhba list");
  model::VmhbaSetting setting = found->setting;
  set_word(options.port_group, setting.port_group);
  set_word(options.ipv4, setting.ipv4);
  set_word(options.gateway, setting.gateway);
  if (const Status good = model::check_vmhba_setting(setting); !good)
    return report_usage(fmt::format("{}: {}", options.name, good.error().message));
  const auto set = client.set_vmhba(options.name, setting);
  if (!set) return report(set.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}",
             as_json ? pretty_json(api::to_json(*set)) : vmhba_table({*set}).print(context.format));
  return ExitStatus::kOk;
}

// Of 64 bits in hexadecimal, as LIO prints it, with or without "0x".
std::optional<std::uint64_t> parse_identifier(std::string_view text) {
  constexpr std::size_t kMostDigits = 16;
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::unexpected<Error> no_identifier(std::string_view option, std::string_view text) {
  return fail(Errc::kInvalidArgument,
              fmt::format("{} {}: must be 1 to 16 hexadecimal digits, such as "
                          "0x5254000000770001",
                          option, text));
}

Result<model::SrpTarget> target_of(const TargetOptions& options) {
  model::SrpTarget target{.vmhba = options.vmhba, .address = options.address};
  const auto id_ext = parse_identifier(options.id_ext);
  if (!id_ext) return no_identifier("--id-ext", options.id_ext);
  const auto ioc_guid = parse_identifier(options.ioc_guid);
  if (!ioc_guid) return no_identifier("--ioc-guid", options.ioc_guid);
  target.id_ext = *id_ext;
  target.ioc_guid = *ioc_guid;
  target.port = options.port;
  if (options.service) {
    target.service = parse_identifier(*options.service);
    if (!target.service) return no_identifier("--service", *options.service);
  } else if (!options.port) {
    if (parse_ipv4(options.address))
      return fail(Errc::kInvalidArgument,
                  fmt::format("a target at the IPv4 address {} needs --port", options.address));
    target.service = target.ioc_guid;  // as Linux's target has it
  }
  if (Status good = model::check_srp_target(target); !good) return std::unexpected(good.error());
  return target;
}

ExitStatus run_list_targets(const Context& context) {
  api::ApiClient client = context.client();
  const auto targets = client.list_srp_targets();
  if (!targets) return report(targets.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::SrpTargetStatus>(*targets, api::to_json)
                           : srp_target_table(*targets).print(context.format));
  if (!targets->empty()) return ExitStatus::kOk;
  const auto vmhbas = client.list_vmhbas();
  if (vmhbas && vmhbas->empty()) {
    note_no_vmhbas(client, context);
  } else {
    note_empty(true, "no target was found or named; see: paravane infiniband target add --help",
               context);
  }
  return ExitStatus::kOk;
}

ExitStatus run_add_target(const TargetOptions& options, const Context& context) {
  const Result<model::SrpTarget> target = target_of(options);
  if (!target) return report_usage(target.error().message);
  api::ApiClient client = context.client();
  const auto added = client.add_srp_target(*target);
  return added ? ExitStatus::kOk : report(added.error(), client);
}

ExitStatus run_remove_target(const TargetOptions& options, const Context& context) {
  if (const Status good = model::check_vmhba_name(options.vmhba); !good)
    return report_usage(good.error().message);
  api::ApiClient client = context.client();
  const auto removed = client.remove_srp_target(options.vmhba, options.number, options.force);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

void add_vmhba_set(CLI::App& vmhba, Run& run) {
  CLI::App* set = vmhba.add_subcommand("set", "Set what a storage adapter reaches");
  auto options = std::make_shared<VmhbaOptions>();
  set->add_option("VMHBA", options->name, "Storage adapter, such as vmhba32")->required();
  set->add_option("--port-group", options->port_group,
                  "Port group whose VMs and native endpoints are reached; \"none\" selects the "
                  "built-in switch (default: unchanged)")
      ->type_name("GROUP|none");
  set->add_option("--ipv4", options->ipv4,
                  "Address and prefix length, for targets that are no VMs of Paravane: refused in "
                  "this release; \"none\" removes it (default: unchanged)")
      ->type_name("ADDRESS/LENGTH");
  set->add_option("--gateway", options->gateway,
                  "Router to other networks, which needs --ipv4; \"none\" removes it (default: "
                  "unchanged)")
      ->type_name("ADDRESS");
  set->footer(
      "The targets of the adapter are logged in anew.\n"
      "Examples:\n"
      "  paravane infiniband vmhba set vmhba32 --port-group storage\n"
      "  paravane infiniband vmhba set vmhba32 --ipv4 none --gateway none");
  set->callback([options, &run] {
    run = [options](const Context& context) { return run_set_vmhba(*options, context); };
  });
}

void add_target_add(CLI::App& target, Run& run) {
  CLI::App* add = target.add_subcommand("add", "Name a target that does not announce itself");
  auto options = std::make_shared<TargetOptions>();
  add->add_option("VMHBA", options->vmhba, "Storage adapter, such as vmhba32")->required();
  add->add_option("ADDRESS", options->address, "GID or IPv4 address of the target")->required();
  add->add_option("--id-ext", options->id_ext, "Identifier extension of the target, hexadecimal")
      ->type_name("NUMBER")
      ->required();
  add->add_option("--ioc-guid", options->ioc_guid,
                  "GUID of the target's I/O controller, hexadecimal")
      ->type_name("NUMBER")
      ->required();
  CLI::Option* service = add->add_option(
      "--service", options->service,
      "Service ID of a target with a GID, hexadecimal (default: that of --ioc-guid)");
  service->type_name("NUMBER");
  add->add_option("--port", options->port, "Port of a target with an IPv4 address")
      ->type_name("NUMBER")
      ->excludes(service);
  add->footer(
      "Linux's target has one number for all three, in\n"
      "/sys/module/ib_srpt/parameters/srpt_service_guid.\n"
      "Examples:\n"
      "  paravane infiniband target add vmhba32 fe80::5054:ff:fe77:1 \\\n"
      "    --id-ext 0x5254000000770001 --ioc-guid 0x5254000000770001\n"
      "  paravane infiniband target add vmhba32 192.0.2.7 --port 5555 \\\n"
      "    --id-ext 0x5254000000770001 --ioc-guid 0x5254000000770001");
  add->callback([options, &run] {
    run = [options](const Context& context) { return run_add_target(*options, context); };
  });
}

}  // namespace

void add_vmhba_commands(CLI::App& infiniband, Run& run) {
  CLI::App* vmhba = infiniband.add_subcommand("vmhba", "SRP storage adapters of the ports");
  vmhba->require_subcommand(1);
  vmhba->footer("Examples:\n  paravane infiniband vmhba list");
  CLI::App* list = vmhba->add_subcommand("list", "List the storage adapters");
  list->footer(
      "Initiator is the name by which a target's access list knows the adapter.\n"
      "Examples:\n"
      "  paravane infiniband vmhba list\n"
      "  paravane infiniband vmhba list --json");
  list->callback([&run] { run = run_list_vmhbas; });
  add_vmhba_set(*vmhba, run);

  CLI::App* target = infiniband.add_subcommand("target", "SRP targets of the storage adapters");
  target->require_subcommand(1);
  target->footer("Examples:\n  paravane infiniband target list");
  CLI::App* targets = target->add_subcommand("list", "List the targets, found and named");
  targets->footer(
      "Examples:\n"
      "  paravane infiniband target list\n"
      "  paravane infiniband target list --formatter=csv");
  targets->callback([&run] { run = run_list_targets; });
  add_target_add(*target, run);
  CLI::App* remove = target->add_subcommand("remove", "Remove a target that was named");
  auto options = std::make_shared<TargetOptions>();
  remove->add_option("VMHBA", options->vmhba, "Storage adapter, such as vmhba32")->required();
  remove->add_option("NUMBER", options->number, "Number of the target, as target list shows it")
      ->required();
  remove->add_flag("--force", options->force, "Even if a VM's disk has no other path");
  remove->footer(
      "Examples:\n"
      "  paravane infiniband target remove vmhba32 0\n"
      "  paravane infiniband target remove vmhba32 0 --force");
  remove->callback([options, &run] {
    run = [options](const Context& context) { return run_remove_target(*options, context); };
  });
}

}  // namespace paravane::cli
