// paravane stats.

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "api/stats_json.h"
#include "base/instant.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/stats_rates.h"
#include "cli/stats_tables.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

struct StatsOptions {
  std::string vm;
  bool counters = false;
  bool queue_pairs = false;
  bool watch = false;
  unsigned interval_s = 1;
  unsigned count = 0;  // with --watch; 0: until interrupted
};

// What was asked for as one table, or else: as JSON everything there is, as CSV
// a line per VM, and as text that and the queue pairs.
std::string print_stats(const model::Stats& stats, const StatsOptions& options,
                        const Context& context) {
  if (context.format == text::TableFormat::kJson) {
    if (options.counters) return pretty_json(counters_json(stats));
    if (options.queue_pairs) return pretty_json(queue_pairs_json(stats));
    return pretty_json(api::to_json(stats));
  }
  if (options.counters) return counter_table(stats).print(context.format);
  if (options.queue_pairs) return qp_table(stats).print(context.format);
  std::string text = vm_table(stats).print(context.format);
  if (context.format == text::TableFormat::kCsv) return text;
  const text::TextTable qps = qp_table(stats);
  if (!qps.empty()) text += "\n" + qps.print(context.format);
  if (!options.vm.empty()) text += "\n" + counter_table(stats).print(context.format);
  return text;
}

// The same of what changed since the round before; as JSON beside everything there is, in a
// line of its own.
std::string print_rates(const StatsInterval& interval, const StatsOptions& options,
                        const Context& context) {
  if (context.format == text::TableFormat::kJson) {
    nlohmann::json all = api::to_json(interval.now);
    all["rates"] = rates_json(interval);
    return print_json(all) + "\n";
  }
  if (options.counters) return counter_rate_table(interval).print(context.format);
  if (options.queue_pairs) return qp_rate_table(interval).print(context.format);
  std::string text = vm_rate_table(interval).print(context.format);
  if (context.format == text::TableFormat::kCsv) return text;
  const text::TextTable qps = qp_rate_table(interval);
  if (!qps.empty()) text += "\n" + qps.print(context.format);
  if (!options.vm.empty()) text += "\n" + counter_rate_table(interval).print(context.format);
  return text;
}

ExitStatus show_stats(const std::string& text) {
  fmt::print("{}", text);
  return std::fflush(stdout) == 0 ? ExitStatus::kOk : ExitStatus::kFailed;
}

// On a terminal each round replaces the one before.
ExitStatus watch_stats(api::ApiClient& client, const std::optional<std::string>& vm,
                       const StatsOptions& options, const Context& context) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  model::Stats before;
  Instant asked;
  for (unsigned round = 0;; ++round) {
    auto stats = client.stats(vm);
    if (!stats) return report(stats.error(), client);
    const Instant now = std::chrono::steady_clock::now();
    if (round > 0) {
      const double seconds = std::chrono::duration<double>(now - asked).count();
      const std::string text =
          print_rates({.before = before, .now = *stats, .seconds = seconds}, options, context);
      const ExitStatus shown = show_stats((terminal ? "\033[H\033[2J" : "") + text);
      if (shown != ExitStatus::kOk || round == options.count) return shown;
    }
    before = std::move(*stats);
    asked = now;
    std::this_thread::sleep_for(std::chrono::seconds(options.interval_s));
  }
}

ExitStatus run_stats(const StatsOptions& options, const Context& context) {
  std::optional<std::string> vm;
  if (!options.vm.empty()) {
    if (const Status good = model::check_name(options.vm); !good) {
      return report_usage(fmt::format("vm {}: {}", options.vm, good.error().message));
    }
    vm = options.vm;
  }
  api::ApiClient client = context.client();
  if (options.watch) return watch_stats(client, vm, options, context);
  const auto stats = client.stats(vm);
  if (!stats) return report(stats.error(), client);
  return show_stats(print_stats(*stats, options, context));
}

ExitStatus run_metrics(const Context& context) {
  api::ApiClient client = context.client();
  const auto metrics = client.metrics();
  return metrics ? show_stats(*metrics) : report(metrics.error(), client);
}

}  // namespace

void add_metrics_command(CLI::App& parent, Run& run) {
  CLI::App* metrics =
      parent.add_subcommand("metrics", "Print all metrics in the format of Prometheus");
  metrics->footer(
      "Examples:\n"
      "  paravane metrics\n"
      "  paravane metrics | grep ^paravane_vm_");
  metrics->callback([&run] { run = run_metrics; });
}

void add_stats_command(CLI::App& parent, Run& run) {
  CLI::App* stats = parent.add_subcommand("stats", "Show counters per VM and per queue pair");
  auto options = std::make_shared<StatsOptions>();
  stats->add_option("--vm", options->vm, "Show this VM only, with all its counters")
      ->type_name("NAME");
  CLI::Option* counters =
      stats->add_flag("--counters", options->counters, "Show every counter, one per line");
  stats->add_flag("--qps", options->queue_pairs, "Show queue pairs only")->excludes(counters);
  CLI::Option* watch =
      stats->add_flag("--watch", options->watch, "Show rates per second, repeatedly");
  stats
      ->add_option("--interval", options->interval_s,
                   "Seconds between two rounds, up to 3600 (default: 1)")
      ->type_name("SECONDS")
      ->needs(watch)
      ->check(CLI::Range(1u, 3600u).description(""));
  stats->add_option("--count", options->count, "Stop after this many rounds (default: no limit)")
      ->type_name("NUMBER")
      ->needs(watch)
      ->check(CLI::Range(1u, 1u << 31).description(""));
  stats->footer(
      "Path: data path of the VM's connections, or - if it has none. Sends: requests completed.\n"
      "Receives: peers' requests executed, including RDMA writes. Flushed: requests discarded\n"
      "because their queue pair failed. Messages: vfio-user messages of the VMM, which do not\n"
      "include the guest's RDMA traffic. With --watch, Messages/s counts sends and receives.\n"
      "GSI: queue pair of the connection manager. --counters explains each counter.\n"
      "Examples:\n"
      "  paravane stats\n"
      "  paravane stats --vm db1 --watch\n"
      "  paravane stats --counters --formatter=csv");
  stats->callback([options, &run] {
    run = [options](const Context& context) { return run_stats(*options, context); };
  });
}

}  // namespace paravane::cli
