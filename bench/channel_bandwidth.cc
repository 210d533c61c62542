// How much of a wire's speed do long writes between two hosts reach?
//
// Two hosts on a core each, joined by a veth pair. Without encryption the floor is iperf3
// with one stream over the same pair; with it, a bare TLS stream of the same cipher. What
// each costs the processors stands beside, of the side that sends and the one that
// receives; our workers spin, as the daemon's do, and the floors wait.

#include <fmt/core.h>

#include <array>
#include <string>

#include "bench/channel_pair.h"
#include "bench/host_stream.h"
#include "bench/iperf.h"
#include "bench/question.h"
#include "bench/tls_stream_floor.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;  // per measurement
constexpr std::uint32_t kMessages[] = {64 << 10, 1 << 20};

template <typename Floor>
void measure(const Settings& settings, const TwoNetworks& networks, Encryption encryption,
             const std::string& floor_name, Floor floor, Figures& figures) {
  const char* kind = encryption == Encryption::kOn       ? "TLS"
                     : encryption == Encryption::kSealed ? "sealed"
                                                         : "sealed frames";
  for (const std::uint32_t message : kMessages) {
    const std::string name = fmt::format("channel, {}, {} KiB", kind, message >> 10);
    ChannelPair hosts(settings, networks, encryption);
    HostStream stream(hosts, {.message = message});
    Figure speed{.name = name + " writes",
                 .unit = "MB/s",
                 .floor_name = floor_name,
                 .target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.85}};
    std::array<Figure, 2> costs;
    for (unsigned side = 0; side < 2; ++side) {
      costs[side].name = name + (side == 0 ? ", CPU sending" : ", CPU receiving");
      costs[side].unit = "s/GiB";
      costs[side].floor_name = floor_name;
    }
    floor();
    stream.move(kBytes);
    for (unsigned i = 0; i < settings.repetitions; ++i) {
      const Traffic below = floor();
      const Traffic ours = stream.move(kBytes);
      speed.add(below.mega_per_second(), ours.mega_per_second());
      for (unsigned side = 0; side < 2; ++side) {
        costs[side].add(below.cpu_per_gib(side), ours.cpu_per_gib(side));
      }
    }
    stream.check();
    figures.push_back(std::move(speed));
    for (Figure& cost : costs) figures.push_back(std::move(cost));
  }
}

}  // namespace

Figures channel_bandwidth(const Settings& settings) {
  const TwoNetworks networks;
  const HostIdentities identities;
  Figures figures;
  for (const Encryption sealed : {Encryption::kSealed, Encryption::kSealedFrames}) {
    measure(
        settings, networks, sealed, "iperf3 with one stream over the same veth pair",
        [&] { return iperf(settings.cores, networks); }, figures);
  }
  measure(
      settings, networks, Encryption::kOn,
      "a bare OpenSSL stream of the same cipher over the same veth pair",
      [&] { return bare_tls(settings.cores, networks, identities, kBytes); }, figures);
  return figures;
}

}  // namespace paravane::bench
