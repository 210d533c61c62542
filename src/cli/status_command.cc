// paravane status, and paravane daemon stop.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"

namespace paravane::cli {
namespace {

ExitStatus run_status(const Context& context) {
  control::ApiClient client = context.client();
  const auto status = client.status();
  if (!status) return report(status.error(), client);
  control::TextTable table({"Version", "PID", "Uptime", "VMs", "Attached", "Sockets", "State",
                            "Configuration", "Host", "Impairments"});
  table.add({status->version, static_cast<std::uint64_t>(status->pid),
             fmt::format("{} s", status->uptime_seconds), status->vms, status->attached,
             status->socket_dir, status->state_dir,
             status->config_file.empty() ? std::string("built-in") : status->config_file,
             status->host, status->impairments});
  fmt::print("{}", table.print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_stop(bool force, const Context& context) {
  control::ApiClient client = context.client();
  const auto stopped = client.stop(force);
  return stopped ? ExitStatus::kOk : report(stopped.error(), client);
}

}  // namespace

void add_status_command(CLI::App& parent, Run& run) {
  CLI::App* status = parent.add_subcommand("status", "Show how the daemon is");
  status->footer(
      "Examples:\n"
      "  paravane status\n"
      "  paravane status --formatter=json");
  status->callback([&run] { run = run_status; });
}

void add_daemon_commands(CLI::App& parent, Run& run) {
  CLI::App* daemon = parent.add_subcommand("daemon", "The daemon itself");
  daemon->require_subcommand(1);
  daemon->footer("Examples:\n  paravane daemon stop");
  CLI::App* stop = daemon->add_subcommand("stop", "End the daemon, unless VMs are attached");
  auto force = std::make_shared<bool>(false);
  stop->add_flag("--force", *force,
                 "Also with VMs attached: they lose the device until each is restarted");
  stop->footer(
      "Examples:\n"
      "  paravane daemon stop\n"
      "  paravane daemon stop --force");
  stop->callback([force, &run] {
    run = [force](const Context& context) { return run_stop(*force, context); };
  });
}

}  // namespace paravane::cli
