// paravane cluster backup, restore and promote.

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_handler.h"
#include "api/backup_json.h"
#include "base/unique_fd.h"
#include "cli/cluster_table.h"
#include "cli/commands.h"
#include "cli/new_file.h"
#include "cli/passphrase.h"
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

Result<std::string> read_whole_file(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  const auto cannot = [&file] {
    return fail(Errc::kIo, fmt::format("cannot read {}: {}", file, std::strerror(errno)));
  };
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot();
  if (!S_ISREG(info.st_mode) || info.st_size > static_cast<off_t>(api::kMaxBackupBody)) {
    return fail(Errc::kIo, fmt::format("{} is no backup of a cluster", file));
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
        "The cluster's backup is in {} ({} bytes). Keep it and its passphrase on another "
        "machine.\n",
        options.file, backup->sealed.size());
  }
  return ExitStatus::kOk;
}

void describe(const model::BackupSummary& backup) {
  const auto made = std::chrono::sys_seconds(std::chrono::seconds(backup.made_s));
  fmt::print(stderr,
             "Backup of cluster {}\n"
             "  made         {:%F %T} UTC by paravaned {}\n"
             "  of host      {} at {}, which had the authority\n"
             "  generation   {} of the configuration\n"
             "  members      {}\n"
             "  switches     {}, with {} port groups\n",
             backup.cluster, made, backup.version, backup.host, backup.address, backup.generation,
             fmt::join(backup.members, ", "), backup.switches, backup.port_groups);
  if (!backup.replaces.empty()) fmt::print(stderr, "It replaces {}.\n", backup.replaces);
}

// nullopt: with the status to end with.
std::optional<model::BackupRequest> ask_first(const BackupOptions& options, api::ApiClient& client,
                                              std::string_view what, ExitStatus& status) {
  auto sealed = read_whole_file(options.file);
  if (!sealed) {
    status =
        report_failure(sealed.error().message, "Name a file that paravane cluster backup made.");
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
  describe(*summary);
  if (options.yes) return asked;
  const auto sure = confirm(fmt::format("{} Type yes to go on: ", what));
  if (sure && *sure) return asked;
  status =
      report_failure(sure ? "it was not confirmed" : sure.error().message + " for a yes; see --yes",
                     "Nothing was changed.");
  return std::nullopt;
}

ExitStatus run_restore(const BackupOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  if (options.accept) return show_cluster(client.accept_inventory(), client, context);
  if (options.file.empty()) {
    return report_usage("restore needs the FILE of a backup, or --accept");
  }
  ExitStatus status = ExitStatus::kFailed;
  const auto asked = ask_first(
      options, client, "This machine becomes that host, and has the cluster's authority.", status);
  return asked ? show_cluster(client.restore_cluster(*asked), client, context) : status;
}

ExitStatus run_promote(const BackupOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  ExitStatus status = ExitStatus::kFailed;
  const auto asked = ask_first(options, client,
                               "This host takes the authority over, and the host that had it is "
                               "out of the cluster.",
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
  command.add_flag("--yes", options->yes, "Do not ask whether to go on");
}

void add_backup(CLI::App& cluster, Run& run) {
  CLI::App* backup = cluster.add_subcommand(
      "backup", "Write what the authority has of the cluster to a sealed file");
  auto options = std::make_shared<BackupOptions>();
  backup->add_option("FILE", options->file, "File to write; it must not be there")->required();
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
      "restore", "Make this machine the host that a backup is of, with the authority");
  auto options = std::make_shared<BackupOptions>();
  CLI::Option* file =
      restore->add_option("FILE", options->file, "File that paravane cluster backup wrote");
  add_passphrase(*restore, options);
  add_yes(*restore, options);
  restore
      ->add_flag("--accept", options->accept,
                 "Without a file: have all hosts follow this one, and give up changes of switches, "
                 "port groups and members that are newer than what it has")
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
      "promote", "Give this host the authority, whose host is gone for good");
  auto options = std::make_shared<BackupOptions>();
  promote->add_option("FILE", options->file, "File that paravane cluster backup wrote")->required();
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
