#include "store/left_out_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/vm.h"

namespace paravane::store {
namespace {

constexpr std::string_view kDocument = "document/";
constexpr std::string_view kTargetRow = "document/srp_target";

struct Kind {
  std::string_view row;
  std::string_view kind;
  std::string_view way_out;  // a command line; {} is its name
};
constexpr std::array kKinds = {
    Kind{"vm", model::kLeftOutVm, "remove the VM with: paravane vm remove {}"},
    Kind{"vds", model::kLeftOutSwitch, "delete the switch with: paravane vds delete {}"},
    Kind{"port_group", model::kLeftOutPortGroup,
         "delete the port group with: paravane portgroup delete {}"},
    Kind{"document/vmknic", "VMkernel interface",
         "remove the interface with: paravane network ip interface remove -i {}"},
    Kind{"document/ib_adapter", "InfiniBand adapter",
         "remove the adapter with: paravane infiniband adapter remove {}"},
    Kind{"document/ib_module", "InfiniBand module",
         "set the module again with: paravane infiniband module set {}"},
    Kind{"document/vmhba", "storage adapter",
         "set the storage adapter again with: paravane infiniband vmhba set {}"},
    Kind{kTargetRow, "SRP target", "remove the target with: paravane infiniband target remove {}"},
    Kind{"document/setting", "setting",
         "change the setting with: paravane system settings advanced set -o {} (-i or -s with a "
         "value)"},
    Kind{"document/ruleset", "firewall ruleset",
         "enable the ruleset with: paravane network firewall ruleset set -r {} -e true"},
};

// A target's document is called "vmhba32.0", its command takes two words.
std::string name_in_command(const std::string& row, std::string name) {
  const std::size_t dot = name.rfind('.');
  if (row == kTargetRow && dot != std::string::npos) name[dot] = ' ';
  return name;
}

std::string remedy_of(const std::string& row, const std::string& name) {
  const std::string restore = "Restore paravane.db from a backup";
  const auto known = std::ranges::find(kKinds, row, &Kind::row);
  // A name that is none cannot be said in a command.
  const bool is_said = model::check_name(name) || row == "document/setting";
  if (known == kKinds.end() || !is_said) return restore + ".";
  return fmt::format("{}, or {}", restore,
                     fmt::format(fmt::runtime(known->way_out), name_in_command(row, name)));
}

}  // namespace

std::string LeftOutRows::kind_of(const std::string& row) {
  const auto known = std::ranges::find(kKinds, row, &Kind::row);
  if (known != kKinds.end()) return std::string(known->kind);
  return row.starts_with(kDocument) ? row.substr(kDocument.size()) : row;
}

std::string LeftOutRows::row_of(std::string_view kind) {
  const auto known = std::ranges::find(kKinds, kind, &Kind::kind);
  if (known != kKinds.end()) return std::string(known->row);
  return std::string(kDocument).append(kind);
}

void LeftOutRows::erase_all(const std::string& row) {
  std::erase_if(reasons_, [&row](const auto& one) { return one.first.first == row; });
}

std::vector<model::LeftOut> LeftOutRows::list() const {
  std::vector<model::LeftOut> list;
  list.reserve(reasons_.size());
  for (const auto& [key, reason] : reasons_) {
    const auto& [row, name] = key;
    list.push_back(
        {.kind = kind_of(row), .name = name, .reason = reason, .remedy = remedy_of(row, name)});
  }
  return list;
}

std::optional<model::LeftOut> LeftOutRows::find(std::string_view kind,
                                                const std::string& name) const {
  const std::string row = row_of(kind);
  const auto found = reasons_.find({row, name});
  if (found == reasons_.end()) return std::nullopt;
  return model::LeftOut{.kind = std::string(kind),
                        .name = name,
                        .reason = found->second,
                        .remedy = remedy_of(row, name)};
}

}  // namespace paravane::store
