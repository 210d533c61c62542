// paravane network vswitch standard policy failover get, set: the uplinks of a switch on this host
// as a team.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/dvs_records.h"
#include "cli/esxcli_tree.h"

namespace paravane::cli {
namespace {

// What can be said of it in esxcli's words; of a policy, ours is the only one.
struct FailoverOptions {
  std::string vds;
  std::string active;
  std::string standby;
  std::string load_balancing{kLoadBalancing};
  std::string failure_detection{kFailureDetection};
  std::string failback{"true"};
  std::string notify_switches{"true"};
};

model::ApiResult<model::SwitchStatus> find_vds(api::ApiClient& client, const std::string& name) {
  auto switches = client.list_switches();
  if (!switches) return std::unexpected(switches.error());
  for (model::SwitchStatus& vds : *switches) {
    if (vds.spec.name == name && vds.spec.hosts.contains(vds.host)) return std::move(vds);
  }
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("this host is not in a switch named {}", name),
                       "List the switches with: paravane vds list");
}

ExitStatus run_get_failover(const std::string& name, const Context& context) {
  api::ApiClient client = context.client();
  const auto vds = find_vds(client, name);
  if (!vds) return report(vds.error(), client);
  const auto nics = client.list_nics();
  if (!nics) return report(nics.error(), client);
  const std::array records = {failover_record(*vds, *nics)};
  fmt::print("{}", text::print_records(records, context.format));
  return ExitStatus::kOk;
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The first policy that is not ours, in words; empty: all are.
std::string other_policy(const FailoverOptions& options) {
  if (options.load_balancing != kLoadBalancing) {
    return fmt::format(
        "--load-balancing {}: only {} is supported, because one uplink at a time carries the "
        "frames",
        options.load_balancing, kLoadBalancing);
  }
  if (options.failure_detection != kFailureDetection) {
    return fmt::format("--failure-detection {}: only {} is supported, because no beacons are sent",
                       options.failure_detection, kFailureDetection);
  }
  for (const auto& [option, value] : {std::pair("--failback", &options.failback),
                                      std::pair("--notify-switches", &options.notify_switches)}) {
    if (*value != "true") return fmt::format("{} {}: only true is supported", option, *value);
  }
  return {};
}

ExitStatus run_set_failover(const FailoverOptions& options, const Context& context) {
  if (std::string other = other_policy(options); !other.empty()) return report_usage(other);
  std::vector<std::string> active = names_in(options.active);
  if (active.size() > 1) {
    return report_usage(
        "--active-uplinks: only one is supported, because one uplink at a time "
        "carries the frames; name the others with --standby-uplinks");
  }
  api::ApiClient client = context.client();
  const auto vds = find_vds(client, options.vds);
  if (!vds) return report(vds.error(), client);
  const model::SwitchHost before = *model::member_of(vds->spec, vds->host);
  model::SwitchHost host{.host = vds->host,
                         .uplink = active.empty() ? before.uplink : active.front(),
                         .standby = names_in(options.standby)};
  if (const Status good = model::check_switch_host(host); !good)
    return report_usage(good.error().message);
  const auto changed = client.set_switch_uplink(options.vds, host);
  return changed ? ExitStatus::kOk : report(changed.error(), client);
}

void add_switch_name(CLI::App& command, std::string& name) {
  command.add_option("-v,--vswitch-name", name, "Switch")->type_name("SWITCH")->required();
}

}  // namespace

void add_failover_commands(CLI::App& root, Run& run) {
  CLI::App& get = add_esxcli_command(root, "network vswitch standard policy failover get",
                                     "Show the uplinks of a switch as a team",
                                     {"network vswitch standard policy failover get -v lan"});
  auto name = std::make_shared<std::string>();
  add_switch_name(get, *name);
  get.callback([name, &run] {
    run = [name](const Context& context) { return run_get_failover(*name, context); };
  });
  CLI::App& set = add_esxcli_command(
      root, "network vswitch standard policy failover set",
      "Set the uplinks of a switch on this host",
      {"network vswitch standard policy failover set -v lan -a vmnic1 -s vmnic2"});
  auto options = std::make_shared<FailoverOptions>();
  add_switch_name(set, options->vds);
  set.add_option("-a,--active-uplinks", options->active,
                 "Uplink that carries the frames (default: as it is)")
      ->type_name("NIC");
  set.add_option("-s,--standby-uplinks", options->standby,
                 "Uplinks that take over, in this order, separated by commas (default: none)")
      ->type_name("NIC,...");
  set.add_option("-l,--load-balancing", options->load_balancing, "Policy (default: explicit)")
      ->type_name("explicit");
  set.add_option("-f,--failure-detection", options->failure_detection,
                 "How a failure is detected (default: link)")
      ->type_name("link");
  set.add_option("-b,--failback", options->failback,
                 "Go back to the first uplink when it has a link again (default: true)")
      ->type_name("true");
  set.add_option("-n,--notify-switches", options->notify_switches,
                 "Announce the VMs' addresses through the new uplink (default: true)")
      ->type_name("true");
  set.callback([options, &run] {
    run = [options](const Context& context) { return run_set_failover(*options, context); };
  });
}

}  // namespace paravane::cli
