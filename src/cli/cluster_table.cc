#include "cli/cluster_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "api/cluster_json.h"
#include "cli/version.h"
#include "model/release.h"
#include "text/text_cell.h"

namespace paravane::cli {
namespace {

using model::ClusterStatus;

std::string print_time(std::uint64_t seconds) {
  constexpr std::uint64_t kHour = 3600;
  constexpr std::uint64_t kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return fmt::format("{} d", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{} h", seconds / kHour);
  return fmt::format("{} s", seconds);
}

std::string text_or_none(const std::string& text) {
  return text.empty() ? "-" : text;
}

// Of a host that is away it is not known.
text::TextTable::Cell port_or_none(std::uint64_t port) {
  if (port != 0) return port;
  return std::string("-");
}

std::string_view inventory_state(const model::ClusterStatus& status) {
  if (status.connected) return "connected";
  return status.connecting ? "connecting" : "away";
}

// Empty: there is none.
std::string describe_damage(const model::ClusterStatus& status) {
  if (status.damage.empty()) return {};
  return fmt::format("{}: {}\n  {}\n",
                     status.member ? "The authority on this host does not work"
                                   : "This host cannot take part in its cluster",
                     text::printable(status.damage), text::printable(status.damage_remedy));
}

text::TextTable host_table(const model::ClusterStatus& status) {
  text::TextTable table(
      {"Host", "State", "Address", "Port", "Version", "Adapters", "GIDs", "Channel"});
  for (const model::ClusterHost& host : status.hosts) {
    table.add({host.name, std::string(host.present ? "present" : "away"),
               text_or_none(host.address), port_or_none(host.port), text_or_none(host.version),
               host.adapters, host.gids, text_or_none(host.channel)});
  }
  return table;
}

// What its version means for the others; empty: nothing. One that is away said it last.
std::string describe_version(const model::ClusterHost& host) {
  const std::string version = text::printable(host.version);
  if (model::is_older_version(kVersion, host.version)) {
    return fmt::format("\nHost {} has version {}, which is newer than {}: upgrade this host too\n",
                       host.name, version, kVersion);
  }
  const auto lacked = model::lacked_by(host.version);
  if (lacked.empty()) return {};
  return fmt::format("\nHost {} has version {}, which lacks: {}\n", host.name, version,
                     fmt::join(lacked, "; "));
}

}  // namespace

std::string print_cluster(const model::ClusterStatus& status, text::TableFormat format) {
  if (format == text::TableFormat::kJson) {
    return api::to_json(status).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  }
  if (format == text::TableFormat::kCsv) return host_table(status).print(format);
  const std::string damage = describe_damage(status);
  if (!status.member) return damage.empty() ? "this host is not in a cluster\n" : damage;
  text::TextTable self(
      {"Cluster", "Host", "Authority", "Address", "Inventory", "Since", "Certificate"});
  self.add({status.cluster, status.host, status.authority, status.address,
            std::string(inventory_state(status)), print_time(status.since_s),
            print_time(status.certificate_left_s)});
  std::string text = self.print(format);
  if (!damage.empty()) text += "\n" + damage;
  if (inventory_state(status) == "away") {
    text += fmt::format("\nThe inventory is unreachable: {}\n", status.problem);
  }
  if (!status.certificate_problem.empty()) {
    text += fmt::format("\nThis host's certificate: {}\n", status.certificate_problem);
  }
  if (!status.hosts.empty()) text += "\n" + host_table(status).print(format);
  for (const model::ClusterHost& host : status.hosts) {
    if (host.problem.is_open()) continue;
    text += fmt::format("\nNo channel to {}: {}\n", host.name, model::describe(host.problem));
  }
  for (const model::ClusterHost& host : status.hosts) {
    if (!host.by_name) continue;
    text += fmt::format("\nHost {} is identified by its name only: its key is not recorded yet\n",
                        host.name);
  }
  for (const model::ClusterHost& host : status.hosts) text += describe_version(host);
  for (const model::ClusterHost& host : status.hosts) {
    if (!host.ahead) continue;
    text += fmt::format(
        "\nHost {} has generation {} of the configuration, but this host has generation {}{}. Was "
        "host {} restored from an older copy? Host {} adopts no changes until this is resolved. On "
        "host {}, create what is missing again, and then run: paravane cluster restore --accept\n",
        host.name, host.generation, status.generation,
        host.generation > status.generation ? "" : " of a different history", status.authority,
        host.name, status.authority);
  }
  if (status.lost.empty() && status.odd_keys == 0) return text;
  text::TextTable lost({"Invalid claim"});
  for (const std::string& claim : status.lost) lost.add({claim});
  if (status.odd_keys != 0) {
    lost.add({fmt::format("{} malformed keys", status.odd_keys)});
  }
  return text + "\n" + lost.print(format);
}

std::string print_cluster_adapters(const std::vector<model::ClusterAdapter>& adapters,
                                   text::TableFormat format) {
  if (format == text::TableFormat::kJson) {
    return api::to_json(adapters).at("adapters").dump(2) + "\n";
  }
  text::TextTable table({"Host", "VM", "Adapter", "MAC Address", "Port Group"});
  for (const model::ClusterAdapter& one : adapters) {
    table.add({one.host, one.adapter.vm, std::uint64_t{one.adapter.number},
               model::format_mac(one.mac), text_or_none(one.port_group)});
  }
  return table.print(format);
}

ExitStatus show_cluster(const model::ApiResult<model::ClusterStatus>& status,
                        const api::ApiClient& client, const Context& context) {
  if (!status) return report(status.error(), client);
  fmt::print("{}", print_cluster(*status, context.format));
  return ExitStatus::kOk;
}

}  // namespace paravane::cli
