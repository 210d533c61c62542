// A question: what one file of this folder measures.

#pragma once

#include <filesystem>
#include <vector>

#include "bench/cores.h"
#include "bench/figure.h"

namespace paravane::bench {

struct Settings {
  Cores cores;
  unsigned repetitions = 15;
  std::filesystem::path programs;  // where paravaned and paravane are
};

using Figures = std::vector<Figure>;

struct Question {
  const char* name;
  const char* asks;
  Figures (*answer)(const Settings& settings);
  bool needs_root = false;  // for networks of its own
};

Figures write_latency(const Settings& settings);
Figures write_bandwidth(const Settings& settings);
Figures write_rate(const Settings& settings);
Figures atomics(const Settings& settings);
Figures shared_receives(const Settings& settings);
Figures many_queue_pairs(const Settings& settings);
Figures register_memory(const Settings& settings);
Figures queue_pair_setup(const Settings& settings);
Figures idle(const Settings& settings);
Figures handover(const Settings& settings);
Figures long_turns(const Settings& settings);
Figures channel_bandwidth(const Settings& settings);
Figures channel_latency(const Settings& settings);
Figures channel_many(const Settings& settings);
Figures channel_copies(const Settings& settings);
Figures trunk_seals(const Settings& settings);
Figures ring_or_socket(const Settings& settings);
Figures roce(const Settings& settings);
Figures roce_flood(const Settings& settings);
Figures roce_engine(const Settings& settings);

// A benchmark that computes nonsense quickly is worse than none: prints and ends
// the program.
void demand(bool condition, const char* what);

}  // namespace paravane::bench
