// What the status says of two processes that may be of two releases.

#include "cli/status_cells.h"

#include <gtest/gtest.h>

#include <string>

namespace paravane::cli {
namespace {

using model::UpgradeState;

model::DaemonStatus status_of(const std::string& engine, const std::string& keeper) {
  model::DaemonStatus status;
  status.version = engine;
  status.keeper.version = keeper;
  return status;
}

TEST(StatusCells, NameAKeeperOfAnotherRelease) {
  EXPECT_EQ(version_cell(status_of("2", "")), "2");
  EXPECT_EQ(version_cell(status_of("2", "2")), "2");
  EXPECT_EQ(version_cell(status_of("2", "1")), "2 (keeper 1)");
}

TEST(StatusCells, SayWhyTheKeeperWasNotReplaced) {
  model::DaemonStatus status = status_of("2", "1");
  status.upgrade.state = UpgradeState::kDone;
  EXPECT_EQ(upgrade_cell(status), "done");
  EXPECT_EQ(upgrade_warning(status), "");
  status.keeper.cause = "cannot execute /usr/sbin/paravaned: Permission denied";
  EXPECT_EQ(upgrade_cell(status),
            "done: the keeper was not replaced: cannot execute /usr/sbin/paravaned: Permission "
            "denied");
  EXPECT_EQ("done: " + upgrade_warning(status), upgrade_cell(status));
}

TEST(StatusCells, SayWhyAnUpgradeFailed) {
  model::DaemonStatus status = status_of("2", "2");
  status.upgrade = {.state = UpgradeState::kFailed, .cause = "no memory"};
  status.keeper.cause = "of an upgrade before";
  EXPECT_EQ(upgrade_cell(status), "failed: no memory");
}

TEST(StatusCells, SayWhatACheckHasFound) {
  model::DaemonStatus status = status_of("2", "2");
  status.upgrade = {.state = UpgradeState::kChecked, .cause = "the keeper would not be replaced"};
  EXPECT_EQ(upgrade_cell(status), "checked: the keeper would not be replaced");
  EXPECT_EQ(upgrade_warning(status), status.upgrade.cause);
}

}  // namespace
}  // namespace paravane::cli
