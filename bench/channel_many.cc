// How much of one queue pair's speed do 1,000 reach together over one channel?
//
// Writes of 64 KiB without encryption: one queue pair with 64 outstanding, and 1,000 with
// one each.

#include "bench/channel_pair.h"
#include "bench/host_stream.h"
#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kQueuePairs = 1000;
constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;  // per measurement

}  // namespace

Figures channel_many(const Settings& settings) {
  const TwoNetworks networks;
  ChannelPair hosts(settings, networks, Encryption::kSealed);
  HostStream one(hosts, {});
  HostStream many(hosts, {.queue_pairs = kQueuePairs, .outstanding = 1});
  Figure figure{.name = "channel, sealed, 64 KiB, 1000 QPs",
                .unit = "MB/s",
                .floor_name = "one queue pair over the same channel",
                .target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.8}};
  figure.measure(
      settings.repetitions, [&] { return one.move(kBytes).mega_per_second(); },
      [&] { return many.move(kBytes).mega_per_second(); });
  one.check();
  many.check();
  return {std::move(figure)};
}

}  // namespace paravane::bench
