#include "model/closed_channel.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "model/advanced_setting.h"

namespace paravane::model {
namespace {

struct Name {
  ClosedBy reason;
  std::string_view text;
};
constexpr std::array kNames = {Name{ClosedBy::kOther, ""}, Name{ClosedBy::kRuleset, "ruleset"},
                               Name{ClosedBy::kTag, "vmknic"},
                               Name{ClosedBy::kInventory, "inventory"}};

std::string with_remedy(const std::string& text, const std::string& remedy) {
  return remedy.empty() ? text : fmt::format("{} ({})", text, remedy);
}

}  // namespace

std::string_view print(ClosedBy reason) {
  return std::ranges::find(kNames, reason, &Name::reason)->text;
}

ClosedBy parse_closed_by(std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text, &Name::text);
  return found == kNames.end() ? ClosedBy::kOther : found->reason;
}

std::string reopen(ClosedBy reason, std::string_view vmknic) {
  switch (reason) {
    case ClosedBy::kRuleset: return "paravane network firewall ruleset set -e true -r pvrdma";
    case ClosedBy::kTag:
      return fmt::format("paravane system settings advanced set -o {} -s {}", kPvrdmaVmknic,
                         vmknic);
    case ClosedBy::kInventory: return "paravane cluster status";
    case ClosedBy::kOther: break;
  }
  return {};
}

std::string describe(const ClosedChannel& closed) {
  return with_remedy(closed.why, closed.remedy);
}

std::string describe(const ChannelProblem& problem) {
  return with_remedy(problem.text, problem.remedy);
}

}  // namespace paravane::model
