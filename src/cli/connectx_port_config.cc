// connectx_port_config: the types of the ports of ConnectX adapters, as the script of Mellanox'
// driver packages asks for them (guide, 4.2.3.1): shows them, takes them, or asks.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/ib_module_actions.h"
#include "model/ib_device.h"
#include "model/ib_port_types.h"

namespace paravane::cli {
namespace {

using model::IbAdapter;
using model::IbPortType;

struct PortConfigOptions {
  std::string device;  // its name or bus; empty: the only one, or asked for
  std::string types;   // "ib,eth"; empty: asked for
  bool shows = false;
};

// What is set, from the next restart on.
struct PortConfig {
  std::vector<IbAdapter> adapters{};  // by bus
  std::string text{};                 // the options of module mlx4_en
  model::IbOptions options{};
};

model::ApiResult<PortConfig> read_port_config(api::ApiClient& client) {
  const auto statuses = client.list_ib_adapters();
  if (!statuses) return std::unexpected(statuses.error());
  const auto module = find_ib_module_status(client, std::string(model::kModuleMlx4));
  if (!module) return std::unexpected(module.error());
  PortConfig config{.text = module->setting.options};
  for (const model::IbAdapterStatus& status : *statuses) {
    // A newer daemon may have others.
    if (model::find_ib_device(status.adapter.device)) config.adapters.push_back(status.adapter);
  }
  std::ranges::sort(config.adapters, {}, &IbAdapter::bus);
  auto options = model::parse_ib_options(*model::find_ib_module(model::kModuleMlx4), config.text);
  if (!options) return model::refuse(model::ApiErrorCode::kInternal, options.error().message);
  config.options = std::move(*options);
  return config;
}

std::string_view allowed_types(const IbAdapter& adapter) {
  const model::IbDevice device = *model::find_ib_device(adapter.device);
  if (!device.can_be_ethernet) return device.ports == 1 ? "(ib)" : "(ib,ib)";
  return device.ports == 1 ? "(ib) (eth)" : "(ib,ib) (ib,eth) (eth,eth)";
}

std::string port_line(const PortConfig& config, const IbAdapter& adapter) {
  std::string line = fmt::format("{} (bus {})", adapter.name, adapter.bus);
  const model::IbAdapterTypes types = model::ib_port_types(config.options, adapter);
  for (std::size_t i = 0; i < types.ports.size(); ++i)
    line += fmt::format("  port {}: {}", i + 1, model::to_string(types.ports[i]));
  return line + fmt::format("   allowed: {}\n", allowed_types(adapter));
}

// nullopt: the input has ended.
std::optional<std::string> ask(std::string_view question) {
  fmt::print("{}", question);
  std::fflush(stdout);
  std::string answer;
  if (!std::getline(std::cin, answer)) return std::nullopt;
  const std::size_t first = answer.find_first_not_of(" \t\r");
  const std::size_t last = answer.find_last_not_of(" \t\r");
  return first == std::string::npos ? std::string() : answer.substr(first, last - first + 1);
}

const IbAdapter* adapter_called(const PortConfig& config, std::string_view word) {
  for (const IbAdapter& adapter : config.adapters) {
    if (adapter.name == word || std::to_string(adapter.bus) == word) return &adapter;
  }
  return nullptr;
}

// nullptr: the input has ended.
const IbAdapter* ask_adapter(const PortConfig& config) {
  if (config.adapters.size() == 1) return &config.adapters.front();
  fmt::print("ConnectX devices:\n");
  for (std::size_t i = 0; i < config.adapters.size(); ++i)
    fmt::print("  {}: {} (bus {})\n", i + 1, config.adapters[i].name, config.adapters[i].bus);
  while (const auto answer = ask("Select the device: ")) {
    for (std::size_t i = 0; i < config.adapters.size(); ++i) {
      if (*answer == std::to_string(i + 1)) return &config.adapters[i];
    }
    if (const IbAdapter* adapter = adapter_called(config, *answer)) return adapter;
    fmt::print("The list has no device '{}'.\n", *answer);
  }
  return nullptr;
}

std::optional<IbPortType> type_called(std::string_view word) {
  if (word == "1") return IbPortType::kInfiniband;
  if (word == "2") return IbPortType::kEthernet;
  return model::parse_ib_port_type(word);
}

// nullopt: the input has ended.
std::optional<std::vector<IbPortType>> ask_types(const IbAdapter& adapter) {
  fmt::print("Possible port types:\n  1: InfiniBand\n  2: Ethernet\n");
  std::vector<IbPortType> types;
  const std::size_t ports = model::find_ib_device(adapter.device)->ports;
  while (types.size() < ports) {
    const auto answer = ask(fmt::format("Select the type of port {} (1,2): ", types.size() + 1));
    if (!answer) return std::nullopt;
    if (const auto type = type_called(*answer)) {
      types.push_back(*type);
    } else {
      fmt::print("'{}' is neither 1 nor 2.\n", *answer);
    }
  }
  return types;
}

// nullopt: it is no list of types.
std::optional<std::vector<IbPortType>> read_types(std::string_view text) {
  std::vector<IbPortType> types;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto type = type_called(text.substr(0, comma));
    if (!type) return std::nullopt;
    types.push_back(*type);
    if (comma == std::string_view::npos) return types;
    text.remove_prefix(comma + 1);
  }
}

ExitStatus set_types(const PortConfig& config, const IbAdapter& adapter,
                     const std::vector<IbPortType>& types, const Context& context) {
  std::string triplets;
  const auto add = [&triplets](std::uint32_t bus, std::size_t port, IbPortType type) {
    triplets += fmt::format("{}{},{},{}", triplets.empty() ? "" : ",", bus, port,
                            static_cast<unsigned>(type));
  };
  for (const model::IbPortTypeWish& wish : config.options.port_types) {
    if (wish.bus != adapter.bus) add(wish.bus, wish.port, wish.type);
  }
  for (std::size_t i = 0; i < types.size(); ++i) add(adapter.bus, i + 1, types[i]);
  std::string text = model::with_ib_option(*model::find_ib_module(model::kModuleMlx4), config.text,
                                           model::kPortTypes, triplets);
  return change_ib_module(std::string(model::kModuleMlx4), {.options = std::move(text)}, context);
}

ExitStatus run_port_config(const PortConfigOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  const auto config = read_port_config(client);
  if (!config) return report(config.error(), client);
  if (config->adapters.empty())
    return report_failure("this host has no InfiniBand adapter",
                          "Add one with: paravane infiniband adapter add");
  const IbAdapter* adapter = nullptr;
  if (!options.device.empty()) {
    adapter = adapter_called(*config, options.device);
    if (adapter == nullptr)
      return report_failure("there is no InfiniBand adapter " + options.device,
                            "List the InfiniBand adapters with: paravane infiniband adapter list");
  }
  if (options.shows) {
    for (const IbAdapter& one : config->adapters) {
      if (adapter == nullptr || &one == adapter) fmt::print("{}", port_line(*config, one));
    }
    return ExitStatus::kOk;
  }
  if (adapter == nullptr && !options.types.empty() && config->adapters.size() > 1)
    return report_usage("--conf: this host has several InfiniBand adapters",
                        "Name one with --device.");
  if (adapter == nullptr) adapter = ask_adapter(*config);
  if (adapter == nullptr) return report_failure("the input ended: nothing was changed", "");
  std::optional<std::vector<IbPortType>> types;
  if (options.types.empty()) {
    fmt::print("{}", port_line(*config, *adapter));
    types = ask_types(*adapter);
    if (!types) return report_failure("the input ended: nothing was changed", "");
  } else {
    types = read_types(options.types);
    const std::size_t ports = model::find_ib_device(adapter->device)->ports;
    if (!types || types->size() != ports)
      return report_usage(
          fmt::format("--conf {}: must be a type, ib or eth, of each of the {} "
                      "ports, such as {}",
                      options.types, ports, ports == 1 ? "ib" : "ib,eth"));
  }
  return set_types(*config, *adapter, *types, context);
}

}  // namespace

void add_connectx_port_config(CLI::App& root, Run& run) {
  root.description("The types of the ports of ConnectX adapters: InfiniBand or Ethernet.");
  root.footer(
      "Without -c and -s it asks. Changes take effect with: paravane infiniband restart\n"
      "Examples:\n"
      "  connectx_port_config -s\n"
      "  connectx_port_config -d 13 -c ib,eth\n"
      "See also paravane(1).");
  auto options = std::make_shared<PortConfigOptions>();
  root.add_option("-d,--device", options->device,
                  "Adapter, by its name or bus (default: the only one)")
      ->type_name("ADAPTER");
  CLI::Option* types =
      root.add_option("-c,--conf", options->types, "Type of each port, such as ib,eth");
  types->type_name("TYPES");
  CLI::Option* show = root.add_flag("-s,--show", options->shows, "Show the types");
  show->excludes(types);
  root.callback([options, &run] {
    run = [options](const Context& context) { return run_port_config(*options, context); };
  });
}

}  // namespace paravane::cli
