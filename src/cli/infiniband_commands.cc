// paravane infiniband adapter add, list, remove; uplink list; fabric list; restart; run. The
// modules are in ib_module_commands.cc, sm in ib_manager_commands.cc, vmhba and target in
// vmhba_commands.cc.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/infiniband_json.h"
#include "cli/commands.h"
#include "cli/ib_module_actions.h"
#include "cli/infiniband_run.h"
#include "cli/infiniband_tables.h"
#include "cli/json_output.h"
#include "model/ib_device.h"
#include "model/ib_module.h"

namespace paravane::cli {
namespace {

// Lower ones are the chipset's on most machines.
constexpr std::uint32_t kFirstDefaultBus = 13;

struct IbAdapterOptions {
  model::IbAdapter adapter;
  bool has_bus = false;
  std::vector<std::string> ethernet;  // "2=eth1"
};

struct RunOptions {
  std::vector<std::string> words;
  std::string door;
};

// The lowest bus from kFirstDefaultBus on that no adapter has.
std::uint32_t free_bus(const std::vector<model::IbAdapterStatus>& adapters) {
  std::uint32_t bus = kFirstDefaultBus;
  const auto is_taken = [&bus](const model::IbAdapterStatus& one) {
    return one.adapter.bus == bus;
  };
  while (std::ranges::any_of(adapters, is_taken)) ++bus;
  return bus;
}

// False: the text is not PORT=NIC, or its port has a NIC.
bool read_ethernet(const std::string& text, model::IbAdapter& adapter) {
  std::uint32_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest == end || *rest != '=') return false;
  return adapter.ethernet.emplace(port, std::string(rest + 1, end)).second;
}

ExitStatus run_add_ib_adapter(const IbAdapterOptions& options, const Context& context) {
  model::IbAdapter adapter = options.adapter;
  for (const std::string& text : options.ethernet) {
    if (read_ethernet(text, adapter)) continue;
    return report_usage(
        fmt::format("--ethernet {}: must be a port and its NIC, each port once, "
                    "such as 2=eth1",
                    text));
  }
  if (const Status good = model::check_ib_adapter(adapter); !good) {
    return report_usage(good.error().message);
  }
  api::ApiClient client = context.client();
  if (!options.has_bus) {
    const auto adapters = client.list_ib_adapters();
    if (!adapters) return report(adapters.error(), client);
    adapter.bus = free_bus(*adapters);
  }
  const auto added = client.add_ib_adapter(adapter);
  if (!added) return report(added.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(api::to_json(*added))
                           : ib_adapter_table({*added}).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_list_ib_adapters(const Context& context) {
  api::ApiClient client = context.client();
  const auto adapters = client.list_ib_adapters();
  if (!adapters) return report(adapters.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::IbAdapterStatus>(*adapters, api::to_json)
                           : ib_adapter_table(*adapters).print(context.format));
  note_empty(adapters->empty(),
             "there are no InfiniBand adapters; see: paravane infiniband adapter add --help",
             context);
  return ExitStatus::kOk;
}

ExitStatus run_remove_ib_adapter(const std::string& name, const Context& context) {
  if (const Status good = model::check_ib_adapter_name(name); !good) {
    return report_usage(good.error().message);
  }
  api::ApiClient client = context.client();
  const auto removed = client.remove_ib_adapter(name);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

// Why there are none.
std::string lack_of_uplinks(api::ApiClient& client) {
  const auto adapters = client.list_ib_adapters();
  if (!adapters || adapters->empty())
    return "there are no uplinks without an InfiniBand adapter; see: paravane infiniband adapter "
           "add --help";
  const auto module = find_ib_module_status(client, std::string(model::kModuleIpoib));
  if (module && !module->is_loaded)
    return "module ib_ipoib, which makes uplinks, is not loaded; see: paravane infiniband status";
  return "no port of an InfiniBand adapter is of type InfiniBand; see: paravane infiniband status";
}

ExitStatus run_list_ib_uplinks(const Context& context) {
  api::ApiClient client = context.client();
  const auto uplinks = client.list_ib_uplinks();
  if (!uplinks) return report(uplinks.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::IbUplink>(*uplinks, api::to_json)
                           : ib_uplink_table(*uplinks).print(context.format));
  if (uplinks->empty()) note_empty(true, lack_of_uplinks(client), context);
  return ExitStatus::kOk;
}

ExitStatus run_list_ib_fabric(const Context& context) {
  api::ApiClient client = context.client();
  const auto fabric = client.ib_fabric();
  if (!fabric) return report(fabric.error(), client);
  if (context.format == text::TableFormat::kJson) {
    fmt::print("{}", pretty_json(api::to_json(*fabric)));
    return ExitStatus::kOk;
  }
  const bool has_switch = fabric->switch_guid != 0;
  if (has_switch && context.format == text::TableFormat::kTable) {
    fmt::print("{}\n", ib_switch_line(*fabric));
  }
  fmt::print("{}", ib_link_table(fabric->links).print(context.format));
  note_empty(!has_switch,
             "there is no switch without an InfiniBand adapter; see: paravane infiniband adapter "
             "add --help",
             context);
  return ExitStatus::kOk;
}

std::string devices_help() {
  std::string text;
  for (const model::IbDevice& device : model::ib_devices()) {
    text += fmt::format("  {:<10} {}; {} port{}, {} Gbps\n", device.name, device.description,
                        device.ports, device.ports == 1 ? "" : "s", device.rate_gbps);
  }
  return text;
}

void add_ib_adapter_add(CLI::App& adapter, Run& run) {
  CLI::App* add = adapter.add_subcommand("add", "Add a virtual InfiniBand adapter to this host");
  auto options = std::make_shared<IbAdapterOptions>();
  add->add_option("NAME", options->adapter.name,
                  "Name of the adapter, 1 to 19 letters, digits, _ and -, such as mlx4_0")
      ->required();
  add->add_option("--device", options->adapter.device, "Device model, such as MT26428")
      ->type_name("MODEL")
      ->required();
  CLI::Option* bus = add->add_option("--bus", options->adapter.bus,
                                     fmt::format("PCI bus of the adapter, 0 to {} (default: the "
                                                 "lowest free one from {} on)",
                                                 model::kMaxPciBus, kFirstDefaultBus));
  bus->type_name("NUMBER");
  add->add_option("--ethernet", options->ethernet,
                  "NIC of this host that a port stands for while its type is Ethernet, such as "
                  "2=eth1")
      ->type_name("PORT=NIC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add->footer("Device models:\n" + devices_help() +
              "The first adapter also starts the switch of this host.\n"
              "Examples:\n"
              "  paravane infiniband adapter add mlx4_0 --device MT26428\n"
              "  paravane infiniband adapter add mlx4_1 --device MT25418 --bus 20\n"
              "  paravane infiniband adapter add mlx4_2 --device MT26428 --ethernet 2=eth1");
  add->callback([options, bus, &run] {
    options->has_bus = bus->count() != 0;
    run = [options](const Context& context) { return run_add_ib_adapter(*options, context); };
  });
}

void add_ib_adapter_commands(CLI::App& infiniband, Run& run) {
  CLI::App* adapter =
      infiniband.add_subcommand("adapter", "Virtual InfiniBand adapters of this host");
  adapter->require_subcommand(1);
  adapter->footer("Examples:\n  paravane infiniband adapter list");
  add_ib_adapter_add(*adapter, run);

  CLI::App* list = adapter->add_subcommand("list", "List the adapters, with a line for each port");
  list->footer(
      "Examples:\n"
      "  paravane infiniband adapter list\n"
      "  paravane infiniband adapter list --json");
  list->callback([&run] { run = run_list_ib_adapters; });

  CLI::App* remove = adapter->add_subcommand("remove", "Remove an adapter");
  auto name = std::make_shared<std::string>();
  remove->add_option("NAME", *name, "Name of the adapter")->required();
  remove->footer("Examples:\n  paravane infiniband adapter remove mlx4_0");
  remove->callback([name, &run] {
    run = [name](const Context& context) { return run_remove_ib_adapter(*name, context); };
  });
}

void add_ib_uplink_commands(CLI::App& infiniband, Run& run) {
  CLI::App* uplink = infiniband.add_subcommand(
      "uplink", "Ports as uplinks of distributed switches (IP over InfiniBand)");
  uplink->require_subcommand(1);
  uplink->footer("Examples:\n  paravane infiniband uplink list");
  CLI::App* list = uplink->add_subcommand("list", "List the uplinks, with their partitions");
  list->footer(
      "Speed is in Mbit/s. MTU is that of IP packets, without a header of Ethernet.\n"
      "Examples:\n"
      "  paravane infiniband uplink list\n"
      "  paravane infiniband uplink list --json");
  list->callback([&run] { run = run_list_ib_uplinks; });
}

void add_ib_fabric_commands(CLI::App& infiniband, Run& run) {
  CLI::App* fabric = infiniband.add_subcommand("fabric", "Switch of this host, and its links");
  fabric->require_subcommand(1);
  fabric->footer("Examples:\n  paravane infiniband fabric list");
  CLI::App* list = fabric->add_subcommand("list", "List the links of this host's switch");
  list->footer(
      "Examples:\n"
      "  paravane infiniband fabric list\n"
      "  paravane infiniband fabric list --formatter=csv");
  list->callback([&run] { run = run_list_ib_fabric; });
}

void add_ib_run(CLI::App& infiniband, Run& run) {
  CLI::App* command = infiniband.add_subcommand(
      "run", "Run an InfiniBand program, such as opensm, on the adapters");
  auto options = std::make_shared<RunOptions>();
  command->add_option("COMMAND", options->words, "Program and its arguments, after --")->required();
  command
      ->add_option(
          "--door", options->door,
          "Socket for the program (default: that of the daemon, or umad.sock beside the daemon "
          "socket)")
      ->type_name("PATH");
  command->footer(
      "The program loads Paravane's libibumad.so.3 instead of the system's. Its exit status is\n"
      "that of the command, 127 if there is no such program, and 126 if it cannot be executed.\n"
      "Examples:\n"
      "  paravane infiniband run -- opensm\n"
      "  paravane infiniband run -- ibstat mlx4_0 1\n"
      "  paravane infiniband run -- ibnetdiscover -l");
  command->callback([options, &run] {
    run = [options](const Context& context) {
      return run_infiniband_program(options->words, options->door, context);
    };
  });
}

}  // namespace

void add_infiniband_commands(CLI::App& parent, Run& run) {
  CLI::App* infiniband = parent.add_subcommand(
      "infiniband", "Virtual InfiniBand adapters of this host, and their subnet");
  infiniband->require_subcommand(1);
  infiniband->footer(
      "Examples:\n"
      "  paravane infiniband adapter add mlx4_0 --device MT26428\n"
      "  paravane infiniband run -- opensm");
  add_ib_adapter_commands(*infiniband, run);
  add_ib_uplink_commands(*infiniband, run);
  add_ib_module_commands(*infiniband, run);
  add_ib_fabric_commands(*infiniband, run);
  add_ib_manager_commands(*infiniband, run);
  add_vmhba_commands(*infiniband, run);
  CLI::App* restart =
      infiniband->add_subcommand("restart", "Restart all adapters, as a reboot of the host would");
  restart->footer(
      "All links go down and up again, and changed options of modules take effect.\n"
      "Examples:\n"
      "  paravane infiniband restart");
  restart->callback([&run] { run = restart_infiniband; });
  add_ib_run(*infiniband, run);
}

}  // namespace paravane::cli
