// paravane cluster backup, restore and promote.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "api/api_handler.h"
#include "api/backup_json.h"
#include "base/unique_fd.h"
#include "cli/cluster_table.h"
#include "cli/commands.h"
#include "cli/new_file.h"
#include "cli/passphrase.h"
#include "cli/restore_summary.h"
#include "json/json_text.h"

namespace paravane::cli {
namespace {

struct BackupOptions {
  std::string file;
  std::optional<int> descriptor;
  bool yes = false;
  bool accept = false;
};
using Options = std::shared_ptr<BackupOptions>;

constexpr std::chrono::seconds kFollowPatience{30};

std::chrono::sys_seconds this_second() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Result<std::string> read_whole_file(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  const auto cannot = [&file] {
    return fail_by_system(Errc::kIo, fmt::format("cannot read {}", file), errno);
  };
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot();
  if (!S_ISREG(info.st_mode) || info.st_size > static_cast<off_t>(api::kMaxBackupBody)) {
    return fail(Errc::kIo, fmt::format("{} is not a backup of a cluster", file));
  }
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t read = 0;
  while (read < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + read, bytes.size() - read);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot();
    if (count == 0) break;
    read += static_cast<std::size_t>(count);
  }
  bytes.resize(read);
  return bytes;
}

ExitStatus run_backup(const BackupOptions& options, const Context& context) {
  if (const auto may = check_new_file(options.file); !may) {
    return report_failure(may.error().problem, may.error().remedy);
  }
  const auto passphrase = read_passphrase(options.descriptor, true);
  if (!passphrase) return report_failure(passphrase.error().message, "Nothing was written.");
  api::ApiClient client = context.client();
  const auto backup = client.back_up_cluster(*passphrase);
  if (!backup) return report(backup.error(), client);
  if (const auto written = write_new_file(options.file, backup->sealed); !written) {
    return report_failure(written.error().problem, written.error().remedy);
  }
  if (context.format == text::TableFormat::kJson) {
    fmt::print("{}\n", print_json({{"file", options.file}, {"bytes", backup->sealed.size()}}));
  } else {
    fmt::print(
        "The cluster's backup was written to {} ({} bytes). Keep it and its passphrase on another "
        "machine.\n",
        options.file, backup->sealed.size());
  }
  return ExitStatus::kOk;
}

// False: with the status to end with.
bool may_go_on(bool yes, std::string_view what, ExitStatus& status) {
  if (yes) return true;
  const auto sure = confirm(fmt::format("{} Type yes to continue: ", what));
  if (sure && *sure) return true;
  status = report_failure(sure ? "the command was not confirmed"
                               : sure.error().message + " for a confirmation; use --yes",
                          "Nothing was changed.");
  return false;
}

// nullopt: with the status to end with.
std::optional<model::BackupRequest> ask_first(const BackupOptions& options, api::ApiClient& client,
                                              bool restores, std::string_view what,
                                              ExitStatus& status) {
  auto sealed = read_whole_file(options.file);
  if (!sealed) {
    status =
        report_failure(sealed.error().message, "Name a file that paravane cluster backup wrote.");
    return std::nullopt;
  }
  auto passphrase = read_passphrase(options.descriptor, false);
  if (!passphrase) {
    status = report_failure(passphrase.error().message, "Nothing was changed.");
    return std::nullopt;
  }
  model::BackupRequest asked{.sealed = std::move(*sealed), .passphrase = std::move(*passphrase)};
  const auto summary = client.inspect_backup(asked);
  if (!summary) {
    status = report(summary.error(), client);
    return std::nullopt;
  }
  fmt::print(stderr, "{}", print_backup_summary(*summary, this_second()));
  if (restores) fmt::print(stderr, "{}", warn_of_members(*summary));
  if (may_go_on(options.yes, what, status)) return asked;
  return std::nullopt;
}

// Hosts follow within seconds, once they have another password for etcd.
model::ApiResult<model::ClusterStatus> await_followers(const model::AcceptSummary& summary,
                                                       api::ApiClient& client) {
  const auto end = std::chrono::steady_clock::now() + kFollowPatience;
  auto status = client.cluster_status();
  while (status && !all_follow(summary, *status) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    status = client.cluster_status();
  }
  return status;
}

ExitStatus run_accept(const BackupOptions& options, api::ApiClient& client,
                      const Context& context) {
  const auto summary = client.inspect_accept();
  if (!summary) return report(summary.error(), client);
  fmt::print(stderr, "{}", print_accept_summary(*summary));
  ExitStatus status = ExitStatus::kFailed;
  const std::string what = fmt::format(
      "All hosts will adopt the switches, port groups and members of host {}.", summary->host);
  if (!may_go_on(options.yes, what, status)) return status;
  if (const auto accepted = client.accept_inventory(); !accepted) {
    return report(accepted.error(), client);
  }
  const auto followed = await_followers(*summary, client);
  status = show_cluster(followed, client, context);
  if (followed) fmt::print(stderr, "{}", print_followers(*summary, *followed));
  return status;
}

ExitStatus run_restore(const BackupOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  if (options.accept) return run_accept(options, client, context);
  if (options.file.empty()) {
    return report_usage("restore needs a backup FILE, or --accept");
  }
  ExitStatus status = ExitStatus::kFailed;
  const auto asked = ask_first(options, client, true,
                               "This machine will take the place of the host in the backup, which "
                               "is the cluster's authority.",
                               status);
  return asked ? show_cluster(client.restore_cluster(*asked), client, context) : status;
}

ExitStatus run_promote(const BackupOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  ExitStatus status = ExitStatus::kFailed;
  const auto asked = ask_first(options, client, false,
                               "This host will become the cluster's authority, and the previous "
                               "authority will be removed from the cluster.",
                               status);
  return asked ? show_cluster(client.promote_host(*asked), client, context) : status;
}

void add_passphrase(CLI::App& command, const Options& options) {
  command
      .add_option("--passphrase-fd", options->descriptor,
                  "Read the passphrase from this open descriptor (default: ask at the terminal)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
}

void add_yes(CLI::App& command, const Options& options) {
  command.add_flag("--yes", options->yes, "Do not ask for confirmation");
}

void add_backup(CLI::App& cluster, Run& run) {
  CLI::App* backup =
      cluster.add_subcommand("backup", "Write the authority's data to an encrypted file");
  auto options = std::make_shared<BackupOptions>();
  backup->add_option("FILE", options->file, "File to create; must not exist yet")->required();
  add_passphrase(*backup, options);
  backup->footer(
      "Examples:\n"
      "  paravane cluster backup cluster.backup\n"
      "  paravane cluster backup cluster.backup --passphrase-fd 3 3< passphrase");
  backup->callback([options, &run] {
    run = [options](const Context& context) { return run_backup(*options, context); };
  });
}

void add_restore(CLI::App& cluster, Run& run) {
  CLI::App* restore = cluster.add_subcommand(
      "restore", "Restore the authority's host on this machine from a backup");
  auto options = std::make_shared<BackupOptions>();
  CLI::Option* file =
      restore->add_option("FILE", options->file, "Backup file that paravane cluster backup wrote");
  add_passphrase(*restore, options);
  add_yes(*restore, options);
  restore
      ->add_flag("--accept", options->accept,
                 "Make all hosts adopt this host's configuration, and discard any newer one")
      ->excludes(file);
  restore->footer(
      "Examples:\n"
      "  paravane cluster restore cluster.backup\n"
      "  paravane cluster restore --accept");
  restore->callback([options, &run] {
    run = [options](const Context& context) { return run_restore(*options, context); };
  });
}

void add_promote(CLI::App& cluster, Run& run) {
  CLI::App* promote = cluster.add_subcommand(
      "promote", "Make this host the authority after the authority's host was lost");
  auto options = std::make_shared<BackupOptions>();
  promote->add_option("FILE", options->file, "Backup file that paravane cluster backup wrote")
      ->required();
  add_passphrase(*promote, options);
  add_yes(*promote, options);
  promote->footer("Examples:\n  paravane cluster promote cluster.backup");
  promote->callback([options, &run] {
    run = [options](const Context& context) { return run_promote(*options, context); };
  });
}

}  // namespace

void add_cluster_backup_commands(CLI::App& cluster, Run& run) {
  add_backup(cluster, run);
  add_restore(cluster, run);
  add_promote(cluster, run);
}

}  // namespace paravane::cli
