#include "cli/completion_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/infiniband_program.h"
#include "model/advanced_setting.h"
#include "model/ib_device.h"
#include "model/ib_module.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

// Whose values a command lists.
struct Listed {
  std::string_view name;  // an option's, or an argument's; before it the command's, if it differs
  std::string_view list;
};
constexpr auto kListed = std::to_array<Listed>({
    {"infiniband adapter remove NAME", "infiniband adapter list"},
    {"infiniband sm remove HOST", "infiniband sm list"},
    {"VMHBA", "infiniband vmhba list"},
    {"storage core adapter rescan --adapter", "infiniband vmhba list"},
    {"storage core device list --device", "storage core device list"},
    {"storage core path list --device", "storage core device list"},
    {"storage nmp device list --device", "storage core device list"},
    {"storage nmp path list --device", "storage core device list"},
    {"NAME", "vm list"},
    {"SWITCH", "vds list"},
    {"GROUP", "portgroup list"},
    {"NIC", "network nic list"},
    {"HOST", "cluster status"},
    {"--vm", "vm list"},
    {"--peer", "vm list"},
    {"--vds", "vds list"},
    {"--vds-name", "vds list"},
    {"--port-group", "portgroup list"},
    {"--portgroup-name", "portgroup list"},
    {"sniff --uplink", "infiniband uplink list"},
    {"--uplink", "network nic list"},
    {"--host", "cluster status"},
    {"--nic-name", "network nic list"},
    {"--interface-name", "network ip interface list"},
    {"--string-value", "network ip interface list"},  // of /Net/PVRDMAVmknic, the only one
    {"--ruleset-id", "network firewall ruleset list"},
    {"--device", "rdma device list"},
});
// What is made there has a name that nobody has yet.
constexpr auto kNewNames = std::to_array<std::string_view>({
    "vm add NAME",
    "infiniband adapter add NAME",
    "cluster token HOST",
    "vds create SWITCH",
    "portgroup create GROUP",
    "network ip interface add --interface-name",
});

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t bar = text.find('|');
    words.emplace_back(text.substr(0, bar));
    if (bar == std::string_view::npos) return words;
    text.remove_prefix(bar + 1);
  }
}

// "table|json|csv", but not "ID|none".
bool is_words(std::string_view type) {
  return type.find('|') != std::string_view::npos && std::ranges::all_of(type, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '|';
         });
}

Values settings() {
  Values values{.kind = ValueKind::kWords};
  for (const auto& setting : model::advanced_settings()) values.words.emplace_back(setting.path);
  return values;
}

Values ib_devices() {
  Values values{.kind = ValueKind::kWords};
  for (const model::IbDevice& device : model::ib_devices()) values.words.emplace_back(device.name);
  return values;
}

Values ib_module_names() {
  Values values{.kind = ValueKind::kWords};
  for (const model::IbModule& module : model::ib_modules()) values.words.emplace_back(module.name);
  return values;
}

Values infiniband_program_names() {
  const auto programs = infiniband_programs();
  return {.kind = ValueKind::kWords, .words = {programs.begin(), programs.end()}};
}

Values limits() {
  Values values{.kind = ValueKind::kWords};
  for (const model::LimitField& field : model::kLimitFields) {
    values.words.push_back(std::string(field.name) + "=");
  }
  return values;
}

}  // namespace

Values values_of(std::string_view path, const CLI::Option& option) {
  const bool positional = option.get_positional();
  const std::string name = positional ? option.get_name(true) : "--" + option.get_single_name();
  const std::string type = option.get_type_name();
  const std::string whole_name = std::string(path) + " " + name;
  if (std::ranges::find(kNewNames, whole_name) != kNewNames.end()) return {};
  if (whole_name == "infiniband adapter add --device") return ib_devices();
  if (positional && name == "MODULE") return ib_module_names();
  if (whole_name == "infiniband run COMMAND") return infiniband_program_names();
  if (name == "--option") return settings();
  if (name == "--limit") return limits();
  if (whole_name == "infiniband target remove NUMBER") return {};
  const auto* listed = std::ranges::find(kListed, whole_name, &Listed::name);
  const bool is_adapter = name == "--adapter" || (positional && name == "NUMBER");
  if (is_adapter && listed == kListed.end()) return {.kind = ValueKind::kAdapter};
  if (is_words(type)) return {.kind = ValueKind::kWords, .words = split(type)};
  if (listed == kListed.end()) listed = std::ranges::find(kListed, name, &Listed::name);
  if (listed != kListed.end()) {
    Values values{.kind = ValueKind::kListed, .list = std::string(listed->list)};
    const bool may_be_none = name == "--uplink" && whole_name != "sniff --uplink";
    const bool or_none = type.ends_with("|none") || may_be_none || name == "NIC";
    if (or_none) values.words = {"none"};
    return values;
  }
  const bool file = type.starts_with("FILE") || type == "PATH";
  return {.kind = file ? ValueKind::kFile : ValueKind::kUnknown};
}

std::string list_command(const Values& values) {
  return fmt::format(
      "paravane --formatter=csv {} 2>/dev/null | "
      R"(sed -En "1d;s/^([A-Za-z0-9][A-Za-z0-9_.-]*),.*/\1/p" | uniq)",
      values.list);
}

}  // namespace paravane::cli
