// paravane_bench: how fast it is, beside how fast this machine could be.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/heap.h"
#include "bench/cores.h"
#include "bench/question.h"
#include "bench/report.h"
#include "daemon/logging.h"

namespace paravane::bench {
namespace {

constexpr Question kQuestions[] = {
    {"latency", "8 bytes to a peer's memory and back, worker spinning", write_latency},
    {"bandwidth", "long writes of one queue pair, beside memcpy", write_bandwidth},
    {"rate", "64 byte writes of one queue pair, posted 32 at a time", write_rate},
    {"atomics", "fetch-and-add to a word of the peer", atomics},
    {"shared", "64 byte sends to queue pairs that share a receive queue", shared_receives},
    {"many", "64 byte writes of many queue pairs, and beside idle ones", many_queue_pairs},
    {"register", "a memory region of 1 GiB", register_memory},
    {"setup", "queue pairs created and connected", queue_pair_setup},
    {"turns", "the longest turn that a hostile guest can cause", long_turns},
    {"idle", "what 32 attached VMs cost that do nothing", idle},
    {"handover", "how long VMs stand still while the daemon is upgraded", handover},
    {"channel", "long writes between two hosts, beside iperf3 and bare TLS", channel_bandwidth,
     true},
    {"channel-latency", "8 bytes to another host and back, beside bare TCP", channel_latency, true},
    {"channel-many", "64 KiB writes of 1,000 queue pairs over one channel", channel_many, true},
    {"channel-copies", "bytes that are copied on the way to another host", channel_copies, true},
    {"trunk-seals", "a copy that is also sealed or encrypted, beside memcpy", trunk_seals},
    {"roce-engine", "RoCE packets of two adapters on one thread, beside bare superframes",
     roce_engine},
    {"roce", "RDMA between two native endpoints on taps, beside bare superframes", roce, true},
    {"roce-flood", "a local pair beside a flood of RoCE frames", roce_flood, true},
    {"ring-or-socket", "would io_uring move these bytes better", ring_or_socket, true},
};

bool wanted(const std::vector<std::string>& only, const Question& question) {
  return only.empty() || std::ranges::find(only, question.name) != only.end();
}

bool known(const std::string& name) {
  return std::ranges::any_of(kQuestions, [&name](const auto& q) { return name == q.name; });
}

Figures answer(const Settings& settings, const std::vector<std::string>& only) {
  Figures figures;
  for (const Question& question : kQuestions) {
    if (!wanted(only, question)) continue;
    if (question.needs_root && ::geteuid() != 0) {
      std::fprintf(stderr, "%s: left out, only root can make networks for it\n", question.name);
      continue;
    }
    std::fprintf(stderr, "%s: %s\n", question.name, question.asks);
    const Distance before = measure_distance(settings.cores);
    for (Figure& figure : question.answer(settings)) {
      figure.distance = before;
      figures.push_back(std::move(figure));
    }
    if (measure_distance(settings.cores) != before) {
      std::fprintf(stderr, "%s: the cores were moved meanwhile; run it again\n", question.name);
    }
  }
  return figures;
}

int run(int argc, char** argv) {
  CLI::App app("How fast Paravane is, each figure beside its floor from the same run");
  Settings settings;
  std::vector<std::string> only;
  std::string json;
  bool list = false;
  app.add_option("--only", only, "only these questions, by name")->delimiter(',');
  app.add_option("--repetitions", settings.repetitions, "pairs of floor and figure")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", json, "also write the figures to this file");
  app.add_flag("--list", list, "name the questions and end");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const Question& question : kQuestions)
      std::printf("%-15s %s\n", question.name, question.asks);
    return EXIT_SUCCESS;
  }
  for (const std::string& name : only) {
    if (known(name)) continue;
    std::fprintf(stderr, "paravane_bench: no question '%s'; see --list\n", name.c_str());
    return EXIT_FAILURE;
  }
  const std::optional<Cores> cores = choose_cores();
  if (!cores) {
    std::fprintf(stderr,
                 "paravane_bench: needs two processors: one for guests, one for the worker\n");
    return EXIT_FAILURE;
  }
  const daemon::Logging logging({.level = "warn"});
  settings.cores = *cores;
  settings.programs = std::filesystem::path(argv[0]).parent_path();
  const Figures figures = answer(settings, only);
  print_table(figures);
  if (!json.empty() && !write_json(figures, settings, json)) {
    std::fprintf(stderr, "paravane_bench: cannot write %s\n", json.c_str());
    return EXIT_FAILURE;
  }
  const bool all_met =
      std::ranges::all_of(figures, [](const Figure& f) { return f.met().value_or(true); });
  return all_met ? EXIT_SUCCESS : 3;
}

}  // namespace

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "paravane_bench: %s\n", what);
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);  // whatever the other threads are at
}

}  // namespace paravane::bench

int main(int argc, char** argv) {
  paravane::give_large_blocks_back_one_by_one();  // as the daemon does
  return paravane::bench::run(argc, argv);
}
