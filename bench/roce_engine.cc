// What do the packets of a RoCE connection cost the engine of each side, without a kernel between?
//
// Two adapters on one thread, each with a RoCE transport, joined by memory. Each side's turns are
// timed apart; what posts requests and takes completions is not. Floors write and read the same
// superframes with ICRC and no protocol, and place no payload where they read.

#include <fmt/core.h>

#include <array>
#include <string>

#include "bench/question.h"
#include "bench/roce_engines.h"
#include "bench/roce_pipe.h"
#include "bench/stopwatch.h"
#include "testing/fake_guest.h"

namespace paravane::bench {
namespace {

constexpr double kMega = 1e6;

std::string name_of(const RoceCase& what) {
  const RoceMessages& messages = what.messages;
  const bool is_long = messages.bytes >= 1024;
  return fmt::format(
      "roce engine, {}, {} {}{}", what.cuts ? "packets" : "superframes",
      is_long ? fmt::format("{} KiB", messages.bytes >> 10) : fmt::format("{} B", messages.bytes),
      messages.reads ? "reads" : "writes", is_long ? fmt::format(", MTU {}", messages.mtu) : "");
}

// The same frames through a pipe of the same kind.
RoceSeconds bare(const RoceCase& what) {
  RocePipe pipe(what.cuts);
  const wire::roce::Route route{.network = wire::roce::Network::kV2Ipv6,
                                .source = fake::gid_of_mac({0x52, 0x54, 0, 0, 0, 1}),
                                .destination = fake::gid_of_mac({0x52, 0x54, 0, 0, 0, 2}),
                                .hop_limit = 64,
                                .udp_source_port = 0xC000};
  RoceFrames frames(what.messages, route, pipe.door(0));
  RoceSeconds seconds{};
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kBurst = 8;
  for (std::uint64_t done = 0; done < what.count;) {
    const Stopwatch sending;
    for (std::uint64_t i = 0; i < kBurst && done < what.count; ++i, ++done) frames.send_message();
    frames.flush();
    seconds[0] += sending.seconds();
    pipe.carry();
    const Stopwatch receiving;
    while (const auto received = pipe.door(1).receive()) {
      packets += read_frame(*received, bytes);
    }
    seconds[1] += receiving.seconds();
  }
  demand(static_cast<double>(packets) == what.packets(), "bare packets are missing");
  return seconds;
}

void measure(const Settings& settings, const RoceCase& what, Figures& figures) {
  const OnCore here(settings.cores.worker);
  RoceEngines engines(what);
  std::array<Figure, 2> costs;
  for (unsigned role = 0; role < 2; ++role) {
    costs[role] = {.name = name_of(what) + (role == 0 ? ", sending" : ", receiving"),
                   .unit = "million/s",
                   .floor_name = "the same superframes with ICRC and no protocol"};
  }
  static_cast<void>(bare(what));
  static_cast<void>(engines.run());
  for (unsigned i = 0; i < settings.repetitions; ++i) {
    const RoceSeconds below = bare(what);
    const RoceSeconds ours = engines.run();
    for (unsigned role = 0; role < 2; ++role) {
      costs[role].add(what.packets() / below[role] / kMega, what.packets() / ours[role] / kMega);
    }
  }
  engines.check();
  for (Figure& cost : costs) figures.push_back(std::move(cost));
}

}  // namespace

Figures roce_engine(const Settings& settings) {
  Figures figures;
  for (const bool cuts : {false, true}) {
    for (const std::uint32_t mtu : {1024u, 4096u}) {
      for (const bool reads : {false, true}) {
        measure(settings, {.messages = {.mtu = mtu, .reads = reads}, .count = 2'000, .cuts = cuts},
                figures);
      }
    }
    measure(settings, {.messages = {.bytes = 64}, .count = 200'000, .cuts = cuts}, figures);
  }
  return figures;
}

}  // namespace paravane::bench
