// paravane cluster ...: several hosts as one. Secrets come from files or standard input
// and never from the command line, which all users of the host can read.

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/cluster_json.h"
#include "cli/cluster_table.h"
#include "cli/commands.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

constexpr std::size_t kMaxFile = std::size_t{32} * 1024;

struct InitOptions {
  std::string name;
  std::vector<std::string> etcd;
  std::string etcd_authority;
  std::string etcd_user;
  std::string etcd_password_file;
};

// "-": standard input, its first line.
Result<std::string> read_secret(const std::string& file) {
  std::string text;
  if (file == "-") {
    if (::isatty(STDIN_FILENO) == 1)
      fmt::print(stderr, "Paste the token or password here, then press Enter: ");
    std::getline(std::cin, text);
    if (text.empty())
      return fail(Errc::kIo,
                  "standard input is empty: paste the token or password there, or name a file that "
                  "contains it");
    return text;
  }
  std::ifstream stream(file);
  if (!stream) return fail_by_system(Errc::kIo, fmt::format("cannot read {}", file), errno);
  text.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  if (text.size() > kMaxFile)
    return fail(Errc::kIo,
                fmt::format("{} is too large for a token, password or certificate", file));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

ExitStatus cannot_read(const Error& error) {
  fmt::print(stderr, "paravane: {}\n", error.message);
  return ExitStatus::kFailed;
}

ExitStatus run_init(const InitOptions& options, const Context& context) {
  model::ClusterInit init{.host = options.name};
  if (!options.etcd.empty()) {
    init.etcd = model::ExternalEtcd{
        .urls = options.etcd, .authority = {}, .user = options.etcd_user, .password = {}};
    if (!options.etcd_authority.empty()) {
      auto authority = read_secret(options.etcd_authority);
      if (!authority) return cannot_read(authority.error());
      init.etcd->authority = *authority + "\n";
    }
    if (!options.etcd_user.empty()) {
      auto password = read_secret(options.etcd_password_file);
      if (!password) return cannot_read(password.error());
      init.etcd->password = std::move(*password);
    }
  }
  api::ApiClient client = context.client();
  return show_cluster(client.init_cluster(init), client, context);
}

// "90s", "15m", "24h"; a number alone: seconds.
std::optional<std::uint32_t> parse_duration(const std::string& text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0 || number > model::kMaxTokenSeconds) return std::nullopt;
  const std::string unit(rest, end);
  const std::uint32_t factor = unit.empty() || unit == "s" ? 1U
                               : unit == "m"               ? 60U
                               : unit == "h"               ? 3600U
                                                           : 0U;
  const std::uint64_t seconds = std::uint64_t{number} * factor;
  if (seconds == 0 || seconds > model::kMaxTokenSeconds) return std::nullopt;
  return static_cast<std::uint32_t>(seconds);
}

ExitStatus run_token(const std::string& host, const std::string& valid, const Context& context) {
  if (const Status good = model::check_name(host); !good) {
    return report_usage(fmt::format("host {}: {}", host, good.error().message));
  }
  const auto seconds = parse_duration(valid);
  if (!seconds)
    return report_usage(
        fmt::format("--valid {}: the time must be 1s to 24h, such as 90s, 15m or 2h", valid));
  api::ApiClient client = context.client();
  const auto token = client.make_token({.host = host, .valid_s = *seconds});
  if (!token) return report(token.error(), client);
  if (context.format == text::TableFormat::kJson) {
    fmt::print("{}\n", print_json(api::to_json(*token)));
  } else {
    fmt::print("{}\n", token->token);
  }
  return ExitStatus::kOk;
}

ExitStatus run_join(const std::string& file, const Context& context) {
  const auto token = read_secret(file);
  if (!token) return cannot_read(token.error());
  api::ApiClient client = context.client();
  return show_cluster(client.join_cluster(*token), client, context);
}

ExitStatus run_leave(bool force, const Context& context) {
  api::ApiClient client = context.client();
  const auto left = client.leave_cluster(force);
  return left ? ExitStatus::kOk : report(left.error(), client);
}

ExitStatus run_remove_host(const std::string& host, const Context& context) {
  if (const Status good = model::check_name(host); !good) {
    return report_usage(fmt::format("host {}: {}", host, good.error().message));
  }
  api::ApiClient client = context.client();
  const auto removed = client.remove_host(host);
  return removed ? ExitStatus::kOk : report(removed.error(), client);
}

ExitStatus run_status_cluster(const Context& context) {
  api::ApiClient client = context.client();
  return show_cluster(client.cluster_status(), client, context);
}

void add_init(CLI::App& cluster, Run& run) {
  CLI::App* init =
      cluster.add_subcommand("init", "Create a cluster with this host as its authority");
  auto options = std::make_shared<InitOptions>();
  init->add_option("--name", options->name,
                   "Name of this host (default: [host] name, or the system's host name)")
      ->type_name("HOST");
  CLI::Option* etcd =
      init->add_option("--etcd", options->etcd,
                       "URL of an existing etcd member; may be repeated (default: start etcd)");
  etcd->type_name("URL")->allow_extra_args(false);
  init->add_option("--etcd-authority", options->etcd_authority,
                   "Certificate of the CA that signed etcd's certificates (PEM)")
      ->type_name("FILE")
      ->needs(etcd);
  CLI::Option* password =
      init->add_option("--etcd-password-file", options->etcd_password_file,
                       "File with the etcd user's password; \"-\" reads standard input");
  password->type_name("FILE");
  CLI::Option* user = init->add_option("--etcd-user", options->etcd_user,
                                       "etcd user with all rights, such as root");
  user->type_name("NAME")->needs(etcd)->needs(password);
  password->needs(user);
  init->footer(
      "Examples:\n"
      "  paravane cluster init --name h1\n"
      "  paravane cluster init --etcd https://192.0.2.7:2379 --etcd https://192.0.2.8:2379 \\\n"
      "    --etcd https://192.0.2.9:2379 --etcd-authority ca.pem --etcd-user root \\\n"
      "    --etcd-password-file password");
  init->callback([options, &run] {
    run = [options](const Context& context) { return run_init(*options, context); };
  });
}

void add_token(CLI::App& cluster, Run& run) {
  CLI::App* token =
      cluster.add_subcommand("token", "Print a token with which one host can join once");
  auto host = std::make_shared<std::string>();
  auto valid = std::make_shared<std::string>("15m");
  token->add_option("HOST", *host, "Name that the host will have in the cluster")->required();
  token->add_option("--valid", *valid, "Lifetime of the token, at most 24h (default: 15m)")
      ->type_name("TIME");
  token->footer(
      "Examples:\n"
      "  paravane cluster token h2\n"
      "  paravane cluster token h2 --valid 1h | ssh h2 paravane cluster join");
  token->callback([host, valid, &run] {
    run = [host, valid](const Context& context) { return run_token(*host, *valid, context); };
  });
}

void add_join(CLI::App& cluster, Run& run) {
  CLI::App* join = cluster.add_subcommand("join", "Join a cluster with a token");
  auto file = std::make_shared<std::string>("-");
  join->add_option("--token-file", *file,
                   "File with the token; \"-\" reads standard input (default: -)")
      ->type_name("FILE");
  join->footer(
      "Examples:\n"
      "  paravane cluster join\n"
      "  paravane cluster join --token-file token");
  join->callback(
      [file, &run] { run = [file](const Context& context) { return run_join(*file, context); }; });
}

void add_leave(CLI::App& cluster, Run& run) {
  CLI::App* leave = cluster.add_subcommand("leave", "Remove this host from its cluster");
  auto force = std::make_shared<bool>(false);
  leave->add_flag("--force", *force,
                  "Leave even if the authority is unreachable, or other hosts need this one");
  leave->footer(
      "Examples:\n"
      "  paravane cluster leave\n"
      "  paravane cluster leave --force");
  leave->callback([force, &run] {
    run = [force](const Context& context) { return run_leave(*force, context); };
  });
}

void add_remove_host(CLI::App& cluster, Run& run) {
  CLI::App* remove = cluster.add_subcommand("remove", "Remove a dead host from the cluster");
  auto host = std::make_shared<std::string>();
  remove->add_option("HOST", *host, "Name of the host")->required();
  remove->footer("Examples:\n  paravane cluster remove h2");
  remove->callback([host, &run] {
    run = [host](const Context& context) { return run_remove_host(*host, context); };
  });
}

}  // namespace

void add_cluster_commands(CLI::App& parent, Run& run) {
  CLI::App* cluster =
      parent.add_subcommand("cluster", "Create, join and inspect a cluster of hosts");
  cluster->require_subcommand(1);
  cluster->footer(
      "Examples:\n"
      "  paravane cluster init --name h1\n"
      "  paravane cluster token h2\n"
      "  paravane cluster status");
  add_init(*cluster, run);
  add_token(*cluster, run);
  add_join(*cluster, run);
  add_leave(*cluster, run);
  add_remove_host(*cluster, run);
  add_cluster_backup_commands(*cluster, run);
  CLI::App* status = cluster->add_subcommand("status", "Show the cluster as this host sees it");
  status->footer(
      "Examples:\n"
      "  paravane cluster status\n"
      "  paravane cluster status --formatter=json");
  status->callback([&run] { run = run_status_cluster; });
}

}  // namespace paravane::cli
