#include "model/upgrade.h"

#include <array>
#include <utility>

namespace paravane::model {
namespace {

constexpr std::array kUpgradeStates = {
    std::pair{UpgradeState::kNone, std::string_view("none")},
    std::pair{UpgradeState::kUnderWay, std::string_view("under_way")},
    std::pair{UpgradeState::kChecked, std::string_view("checked")},
    std::pair{UpgradeState::kFailed, std::string_view("failed")},
    std::pair{UpgradeState::kDone, std::string_view("done")}};

}  // namespace

std::string_view to_string(UpgradeState state) {
  for (const auto& [one, text] : kUpgradeStates) {
    if (one == state) return text;
  }
  return "none";
}

std::optional<UpgradeState> parse_upgrade_state(std::string_view text) {
  for (const auto& [one, word] : kUpgradeStates) {
    if (word == text) return one;
  }
  return std::nullopt;
}

}  // namespace paravane::model
