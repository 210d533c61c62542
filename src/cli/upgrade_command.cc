// paravane daemon upgrade.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "api/stats_json.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/status_cells.h"
#include "text/text_cell.h"
#include "text/text_table.h"

namespace paravane::cli {
namespace {

using model::UpgradeState;

// Longer than a daemon takes: it waits between two upgrades, for the new engine, and for both.
constexpr auto kUpgradeLimit = std::chrono::seconds(40);
constexpr auto kUpgradeLook = std::chrono::milliseconds(100);
// For the keeper, which is replaced after the engine. An engine of an earlier release never says.
constexpr auto kKeeperLimit = std::chrono::seconds(2);

struct UpgradeOptions {
  bool check = false;
  bool no_wait = false;
};

// nullopt: it is still under way.
std::optional<model::DaemonStatus> await_upgrade(api::ApiClient& client) {
  const auto late = std::chrono::steady_clock::now() + kUpgradeLimit;
  auto keeper_late = late;
  for (auto now = late - kUpgradeLimit; now < late; now = std::chrono::steady_clock::now()) {
    // While one engine hands over to the other, a request may fail.
    const auto status = client.status();
    const UpgradeState state = status ? status->upgrade.state : UpgradeState::kUnderWay;
    if (state == UpgradeState::kDone) {
      keeper_late = std::min(keeper_late, now + kKeeperLimit);
      if (!status->keeper.version.empty() || now >= keeper_late) return *status;
    } else if (state != UpgradeState::kUnderWay) {
      return *status;
    }
    std::this_thread::sleep_for(kUpgradeLook);
  }
  return std::nullopt;
}

void print_upgrade(const model::UpgradeStatus& upgrade, const Context& context) {
  if (context.format == text::TableFormat::kJson) {
    fmt::print("{}", pretty_json(api::to_json(upgrade)));
    return;
  }
  text::TextTable table({"State", "From", "To", "Gap", "Time"});
  table.add({std::string(model::to_string(upgrade.state)), upgrade.from, upgrade.to,
             fmt::format("{} ms", upgrade.gap_ms), upgrade.time});
  fmt::print("{}", table.print(context.format));
}

void warn_of_keeper(const model::DaemonStatus& status) {
  const std::string warning = upgrade_warning(status);
  if (warning.empty()) return;
  std::fflush(stdout);
  fmt::print(stderr, "paravane: {}\n", text::printable(warning));
}

ExitStatus run_upgrade(const UpgradeOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  const auto begun = client.upgrade(options.check);
  if (!begun && begun.error().code == model::ApiErrorCode::kUnknownPath) {
    return report_failure("the daemon's release cannot be replaced while VMs run",
                          "Shut the VMs down, and restart paravaned.");
  }
  if (!begun) return report(begun.error(), client);
  if (options.no_wait) return ExitStatus::kOk;
  note_empty(true, options.check ? "checking the new program" : "starting the new program",
             context);
  const auto status = await_upgrade(client);
  if (!status) {
    return report_failure(
        fmt::format("the upgrade has not ended after {} s",
                    std::chrono::duration_cast<std::chrono::seconds>(kUpgradeLimit).count()),
        "See how it goes with: paravane status --formatter=json; journalctl -u paravaned");
  }
  const model::UpgradeStatus& upgrade = status->upgrade;
  const UpgradeState wanted = options.check ? UpgradeState::kChecked : UpgradeState::kDone;
  if (upgrade.state == wanted) {
    print_upgrade(upgrade, context);
    warn_of_keeper(*status);
    return ExitStatus::kOk;
  }
  if (upgrade.state == UpgradeState::kFailed) {
    return report_failure(
        fmt::format("{}: {}", options.check ? "cannot upgrade" : "the upgrade failed",
                    upgrade.cause),
        "The daemon runs on as before. If the program on disk is damaged, install it again. The "
        "log may say more: journalctl -u paravaned");
  }
  return report_failure(
      "the upgrade was not made: the daemon or its engine ended meanwhile",
      "The log may say why: journalctl -u paravaned. See what runs with: paravane status");
}

}  // namespace

void add_daemon_upgrade_command(CLI::App& daemon, Run& run) {
  CLI::App* upgrade =
      daemon.add_subcommand("upgrade", "Change to the installed program while VMs run");
  auto options = std::make_shared<UpgradeOptions>();
  CLI::Option* check = upgrade->add_flag("--check", options->check,
                                         "Only check whether the installed program can take over");
  upgrade->add_flag("--no-wait", options->no_wait, "Do not wait for the end of the upgrade")
      ->excludes(check);
  upgrade->footer(
      "VMs and their RDMA connections stand still for a moment, and go on. If the upgrade fails,\n"
      "the daemon runs on as before.\n\n"
      "Examples:\n"
      "  paravane daemon upgrade --check\n"
      "  paravane daemon upgrade");
  upgrade->callback([options, &run] {
    run = [options](const Context& context) { return run_upgrade(*options, context); };
  });
}

}  // namespace paravane::cli
