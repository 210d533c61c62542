#include "cli/status_cells.h"

#include <fmt/core.h>

namespace paravane::cli {

std::string version_cell(const model::DaemonStatus& status) {
  const std::string& keeper = status.keeper.version;
  if (keeper.empty() || keeper == status.version) return status.version;
  return fmt::format("{} (keeper {})", status.version, keeper);
}

std::string upgrade_cell(const model::DaemonStatus& status) {
  std::string cell(model::to_string(status.upgrade.state));
  if (!status.upgrade.cause.empty()) return cell + ": " + status.upgrade.cause;
  const std::string warning = upgrade_warning(status);
  return warning.empty() ? cell : cell + ": " + warning;
}

std::string upgrade_warning(const model::DaemonStatus& status) {
  const bool failed = status.upgrade.state == model::UpgradeState::kFailed;
  if (!failed && !status.upgrade.cause.empty()) return status.upgrade.cause;
  if (status.keeper.cause.empty()) return {};
  return "the keeper was not replaced: " + status.keeper.cause;
}

}  // namespace paravane::cli
