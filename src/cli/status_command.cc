// paravane status, and paravane daemon stop.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/stats_json.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/left_out.h"
#include "cli/status_cells.h"
#include "cli/vm_table.h"
#include "text/text_cell.h"

namespace paravane::cli {
namespace {

ExitStatus run_status(const Context& context) {
  api::ApiClient client = context.client();
  const auto status = client.status();
  if (!status) return report(status.error(), client);
  if (context.format == text::TableFormat::kJson) {
    fmt::print("{}", pretty_json(api::to_json(*status)));
    return ExitStatus::kOk;
  }
  text::TextTable table({"Version", "PID", "Uptime", "VMs", "Attached", "Sockets", "State",
                         "Configuration", "Host", "Impairments", "Left Out", "Upgrade"});
  table.add({version_cell(*status), static_cast<std::uint64_t>(status->pid),
             fmt::format("{} s", status->uptime_seconds), status->vms, status->attached,
             status->socket_dir, status->state_dir,
             status->config_file.empty() ? std::string("built-in") : status->config_file,
             status->host, status->impairments, std::uint64_t{status->left_out.size()},
             upgrade_cell(*status)});
  fmt::print("{}", table.print(context.format));
  tell_left_out(status->left_out);
  return ExitStatus::kOk;
}

// Longer than a daemon gives the etcd that it runs.
constexpr std::chrono::milliseconds kTimeToEnd = std::chrono::seconds(10);

bool ends(const UniqueFd& process) {
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, static_cast<int>(kTimeToEnd.count())) > 0;
}

// Those whose adapters go with it, when it ends nevertheless.
std::string attached_vms(api::ApiClient& client) {
  std::vector<std::string> names;
  const auto vms = client.list_vms();
  if (!vms) return {};
  for (const model::VmStatus& vm : *vms) {
    if (is_attached(vm)) names.push_back(vm.spec.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// What comes next may be to start it again, which it must not stand in the way of. Its
// number is pinned before it is asked to end: afterwards it may be another's.
ExitStatus run_stop(bool force, const Context& context) {
  api::ApiClient client = context.client();
  const auto status = client.status();
  if (!status && client.unreachable()) return report(status.error(), client);
  UniqueFd process;
  if (status) process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, status->pid, 0)));
  const std::string losers = force ? attached_vms(client) : "";
  const auto stopped = client.stop(force);
  if (!stopped) return report(stopped.error(), client);
  if (!losers.empty()) {
    fmt::print(
        stderr,
        "paravane: these VMs have lost their adapters: {}\n  Shut each down, and start it again.\n",
        text::printable(losers));
  }
  if (!process || ends(process)) return ExitStatus::kOk;
  return report_failure(
      fmt::format("the daemon was asked to stop, but process {} is still running after {} s",
                  status->pid,
                  std::chrono::duration_cast<std::chrono::seconds>(kTimeToEnd).count()),
      "The daemon's log says what it is waiting for: journalctl -u paravaned");
}

}  // namespace

void add_status_command(CLI::App& parent, Run& run) {
  CLI::App* status = parent.add_subcommand("status", "Show daemon status");
  status->footer(
      "Examples:\n"
      "  paravane status\n"
      "  paravane status --formatter=json");
  status->callback([&run] { run = run_status; });
}

void add_daemon_commands(CLI::App& parent, Run& run) {
  CLI::App* daemon = parent.add_subcommand("daemon", "Control the daemon");
  daemon->require_subcommand(1);
  daemon->footer(
      "Examples:\n"
      "  paravane daemon stop\n"
      "  paravane daemon upgrade");
  add_daemon_upgrade_command(*daemon, run);
  CLI::App* stop = daemon->add_subcommand("stop", "Stop the daemon, unless VMs are attached");
  auto force = std::make_shared<bool>(false);
  stop->add_flag("--force", *force, "Stop even if VMs lose their adapters until they restart");
  stop->footer(
      "Examples:\n"
      "  paravane daemon stop\n"
      "  paravane daemon stop --force");
  stop->callback([force, &run] {
    run = [force](const Context& context) { return run_stop(*force, context); };
  });
}

}  // namespace paravane::cli
