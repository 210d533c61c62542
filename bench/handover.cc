// How long do VMs stand still while the daemon is upgraded?
//
// A real daemon with VMs at its sockets is upgraded to the same program. Two of its queue pairs
// write to one another meanwhile. The gap is what the daemon reports; the pause is the longest time
// that the two of them waited for a write there and back.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <string>
#include <thread>

#include "bench/attached_pairs.h"
#include "bench/daemon_process.h"
#include "bench/handover_floor.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

struct Case {
  PairsSpec spec;
  double most_ms;  // the demanded gap
};

constexpr std::array kCases = {
    Case{.spec = {.vms = 1, .queue_pairs = 10}, .most_ms = 20},
    Case{.spec = {.vms = 1, .queue_pairs = 1000}, .most_ms = 100},
    Case{.spec = {.vms = 64, .queue_pairs = 1000}, .most_ms = 100},
    Case{.spec = {.vms = 64, .queue_pairs = 8000}, .most_ms = 0},
    Case{.spec = {.vms = 1, .queue_pairs = 10, .written_bytes = std::uint64_t{1} << 30},
         .most_ms = 20},
    Case{.spec = {.vms = 1, .queue_pairs = 10, .scattered_regions = 48}, .most_ms = 0},
};

// Upgrades are begun each 10 seconds at most.
constexpr unsigned kMostRepetitions = 5;

// Of an adapter: its VMM's socket, three eventfds, files of memory, doorbells, what is kept of it.
constexpr unsigned kDescriptors = 9;

constexpr std::array kParts = {
    std::pair{"saving_us", "saved by the engine before"},
    std::pair{"passing_us", "passed on"},
    std::pair{"loading_us", "loaded"},
    std::pair{"ending_us", "the end of the engine before"},
    std::pair{"beginning_us", "begun"},
};

struct Measured {
  model::Event event;
  double pause_ms = 0;

  double milliseconds(const char* part) const { return std::stod(event.fields.at(part)) / 1000; }
  double gap_ms() const {
    double sum = 0;
    for (const auto& [part, name] : kParts) sum += milliseconds(part);
    return sum;
  }
};

Measured upgrade(DaemonProcess& daemon, AttachedPairs& pairs) {
  Measured measured;
  std::jthread probe([&](const std::stop_token& over) {
    Stopwatch watch;
    double longest = 0;
    while (!over.stop_requested()) {
      pairs.there_and_back();
      longest = std::max(longest, watch.lap_microseconds());
    }
    measured.pause_ms = longest / 1000;
  });
  measured.event = daemon.upgrade();
  probe.request_stop();
  probe.join();
  return measured;
}

Figures measure(const Settings& settings, const Case& one) {
  DaemonProcess daemon(settings.programs / "paravaned");
  AttachedPairs pairs(daemon, one.spec);
  std::string name = fmt::format("{} VM{}, {} QPs", one.spec.vms, one.spec.vms == 1 ? "" : "s",
                                 pairs.queue_pairs());
  if (one.spec.written_bytes > 0) {
    name += fmt::format(", {} GiB written", one.spec.written_bytes >> 30);
  }
  if (one.spec.scattered_regions > 0) {
    name += fmt::format(", {} GiB of scattered pages", one.spec.scattered_regions);
  }
  Figure gap{.name = "upgrade, " + name + ": the gap",
             .unit = "ms",
             .floor_name =
                 "a process of the engine's size sends as many bytes and descriptors to "
                 "another one, and ends"};
  if (one.most_ms > 0) gap.target = {Target::Of::kValue, Target::Sense::kAtMost, one.most_ms};
  Figures rest{{.name = "the longest pause of a queue pair", .unit = "ms"}};
  for (const auto& [part, what] : kParts) rest.push_back({.name = what, .unit = "ms"});
  rest.push_back({.name = "state", .unit = "KiB"});
  for (unsigned i = 0; i < std::min(settings.repetitions, kMostRepetitions); ++i) {
    pairs.write_memory();
    const DaemonProcess::Memory memory = daemon.memory();
    const Measured measured = upgrade(daemon, pairs);
    const double state_bytes = std::stod(measured.event.fields.at("state_bytes"));
    const double floor =
        handover_floor({.parcels = one.spec.vms,
                        .descriptors = kDescriptors,
                        .parcel_bytes = static_cast<std::uint64_t>(state_bytes) / one.spec.vms,
                        .private_bytes = memory.own,
                        .shared_bytes = memory.shared});
    gap.add(floor, measured.gap_ms());
    std::size_t next = 0;
    rest[next++].ours.add(measured.pause_ms);
    for (const auto& [part, what] : kParts) rest[next++].ours.add(measured.milliseconds(part));
    rest[next].ours.add(state_bytes / 1024);
  }
  pairs.try_scattered();
  pairs.demand_responses();
  Figures figures{std::move(gap)};
  for (Figure& figure : rest) {
    figure.name = fmt::format("{}: {}", name, figure.name);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace

Figures handover(const Settings& settings) {
  Figures figures;
  for (const Case& one : kCases) {
    for (Figure& figure : measure(settings, one)) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace paravane::bench
