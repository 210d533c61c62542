#include "ethernet/service_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "ethernet/link_upkeep.h"
#include "ethernet/links.h"
#include "ethernet/roce_rules.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {
namespace {

constexpr std::uint32_t kWaitingFrames = 8192;  // as a RoCE port has
constexpr UpkeepAct kLengthen{"its queue has another length", "set the length of its queue",
                              "the length of its queue was wrong and was corrected"};

// Errors: kNotFound, kBadState, kIo.
Result<Link> find_tap(Links& links, const std::string& mark, const WantedServicePort& wanted) {
  const std::string& name = wanted.tap;
  auto all = links.list();
  if (!all) return std::unexpected(all.error());
  const auto found = std::ranges::find(*all, name, &Link::name);
  if (found == all->end()) return fail(Errc::kNotFound, name + ": no such interface");
  if (found->kind != "tun" || found->mark != mark + wanted.label) {
    return fail(Errc::kBadState, fmt::format("{}: {}", name, kForeignLink));
  }
  return std::move(*found);
}

}  // namespace

Result<MadeServicePort> ensure_service_port(const std::string& mark,
                                            const WantedServicePort& wanted) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  auto rules = TrafficRules::open();
  if (!rules) return std::unexpected(rules.error());
  MadeServicePort made;
  made.about.names.insert(wanted.tap);
  const auto tap = find_tap(*links, mark, wanted);
  if (!tap) {
    if (tap.error().code == Errc::kIo) return std::unexpected(tap.error());
    made.problems.push_back({.link = wanted.tap, .text = tap.error().message});
    return made;
  }
  made.about.links.insert(tap->index);
  LinkUpkeep upkeep(*links, *rules, /*mends=*/true);
  if (tap->queue_length != kWaitingFrames) {
    upkeep.act(wanted.tap, kLengthen,
               [&] { return links->set_queue_length(tap->index, kWaitingFrames); });
  }
  upkeep.keep_rules(*tap, {rules_of_service(wanted.mac)}, {rules_to_service(wanted.mac)});
  made.problems = upkeep.problems();
  made.changes = upkeep.changes();
  return made;
}

Result<OpenTap> open_service_port(const std::string& mark, const WantedServicePort& wanted) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  if (const auto found = find_tap(*links, mark, wanted); !found) {
    return std::unexpected(found.error());
  }
  return open_offload_tap(wanted.tap);
}

}  // namespace paravane::ethernet
