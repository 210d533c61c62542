// paravane stats.

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "api/stats_json.h"
#include "cli/commands.h"
#include "cli/stats_tables.h"
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
  using text::TableFormat;
  if (options.counters) return counter_table(stats).print(context.format);
  if (options.queue_pairs) return qp_table(stats).print(context.format);
  if (context.format == text::TableFormat::kCsv) return vm_table(stats).print(context.format);
  if (context.format == text::TableFormat::kJson) {
    return api::to_json(stats).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::string text = vm_table(stats).print(context.format);
  const text::TextTable qps = qp_table(stats);
  if (!qps.empty()) text += "\n" + qps.print(context.format);
  if (!options.vm.empty()) text += "\n" + counter_table(stats).print(context.format);
  return text;
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
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  for (unsigned round = 1;; ++round) {
    const auto stats = client.stats(vm);
    if (!stats) return report(stats.error(), client);
    const std::string text = print_stats(*stats, options, context);
    // On a terminal each round replaces the one before.
    fmt::print("{}{}", options.watch && terminal ? "\033[H\033[2J" : "", text);
    if (std::fflush(stdout) != 0) return ExitStatus::kFailed;
    if (!options.watch || round == options.count) return ExitStatus::kOk;
    std::this_thread::sleep_for(std::chrono::seconds(options.interval_s));
  }
}

}  // namespace

void add_stats_command(CLI::App& parent, Run& run) {
  CLI::App* stats = parent.add_subcommand("stats", "Show what was done: per VM and queue pair");
  auto options = std::make_shared<StatsOptions>();
  stats->add_option("--vm", options->vm, "Of this VM only, with all its counters")
      ->type_name("NAME");
  CLI::Option* counters =
      stats->add_flag("--counters", options->counters, "Every counter, one per line");
  stats->add_flag("--qps", options->queue_pairs, "Queue pairs only")->excludes(counters);
  CLI::Option* watch = stats->add_flag("--watch", options->watch, "Again and again");
  stats->add_option("--interval", options->interval_s, "Seconds between two rounds, up to 3600 (1)")
      ->type_name("SECONDS")
      ->needs(watch)
      ->check(CLI::Range(1u, 3600u).description(""));
  stats->add_option("--count", options->count, "End after this many rounds")
      ->type_name("NUMBER")
      ->needs(watch)
      ->check(CLI::Range(1u, 1u << 31).description(""));
  stats->footer(
      "Path: of the connections that there are now; -: there is none. Sends: requests completed.\n"
      "Receives: peers' requests placed, RDMA writes among them. Messages: what the VMM said over\n"
      "vfio-user; the guest's RDMA is not in it. --counters says what each counter means.\n"
      "Examples:\n"
      "  paravane stats\n"
      "  paravane stats --vm db1 --watch\n"
      "  paravane stats --counters --formatter=csv");
  stats->callback([options, &run] {
    run = [options](const Context& context) { return run_stats(*options, context); };
  });
}

}  // namespace paravane::cli
