// How much of what the wire carries do RDMA operations between native RoCE endpoints reach?
//
// Two hosts on a core each, each with a bridge, RoCE ports with their rules of traffic control, and
// a veth pair between them. Floors are the superframes of the same messages between two other
// ports of the same bridges, with ICRC and without a protocol. Superframes arrive whole, or cut
// into packets, as those of a native endpoint do: then each is a read().

#include <fmt/core.h>

#include <string>

#include "bench/host_stream.h"
#include "bench/question.h"
#include "bench/roce_blast.h"
#include "bench/roce_host.h"
#include "bench/short_writer.h"
#include "bench/there_and_back.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRounds = 5'000;
constexpr std::uint32_t kShort = ShortWriter::kBytes;
constexpr std::uint32_t kQueuePairs = 1000;
constexpr const char* kFloor = "the same superframes with ICRC and no protocol";

class Measurement {
 public:
  Measurement(const Settings& settings, Arrival arrival)
      : settings_(settings),
        kind_(arrival == Arrival::kWhole ? "superframes" : "packets"),
        bytes_(std::uint64_t{arrival == Arrival::kWhole ? 256u : 96u} << 20),
        writes_(arrival == Arrival::kWhole ? 400'000 : 100'000),
        hosts_(settings, networks_, arrival),
        blast_(settings, networks_, arrival) {}

  void measure(Figures& figures) {
    for (const std::uint32_t mtu : {1024u, 4096u}) {
      hosts_.set_mtu(mtu);
      for (const bool reads : {false, true}) figures.push_back(stream(mtu, reads));
    }
    figures.push_back(short_writes());
    figures.push_back(latency());
    figures.push_back(many());
  }

 private:
  Figure stream(std::uint32_t mtu, bool reads) {
    const RoceMessages messages{.mtu = mtu, .reads = reads};
    HostStream stream(hosts_, {.message = messages.bytes, .outstanding = 16, .reads = reads});
    Figure figure =
        named(fmt::format("64 KiB {}, MTU {}", reads ? "reads" : "writes", mtu), "MB/s");
    figure.target = {Target::Of::kRatio, Target::Sense::kAtLeast, reads ? 0.6 : 0.7};
    figure.measure(
        settings_.repetitions, [&] { return blast_.move(messages, bytes_).mega_per_second(); },
        [&] { return stream.move(bytes_).mega_per_second(); });
    stream.check();
    tell_retransmitted();
    return figure;
  }

  Figure short_writes() {
    const RoceMessages messages{.bytes = kShort};
    HostQueues queues(hosts_, {.send_requests = ShortWriter::kDepth});
    Figure figure =
        named(fmt::format("64 B writes, batches of {}", ShortWriter::kBatch), "million/s");
    figure.target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.5};
    figure.measure(
        settings_.repetitions,
        [&] {
          const Traffic traffic = blast_.move(messages, writes_ * kShort);
          return static_cast<double>(writes_) / traffic.seconds / 1e6;
        },
        [&] {
          ShortWriter writer(queues.end(0), *queues.end(1).buffer, writes_);
          hosts_.host(0).run(&writer);
          writer.await_end();
          hosts_.host(0).run(nullptr);
          return writer.million_per_second();
        });
    tell_retransmitted();
    return figure;
  }

  Figure latency() {
    HostQueues queues(hosts_, {});
    Figure figure = named("8 B and back", "us");
    figure.floor_name = "the same packets there and back with ICRC and no protocol";
    figure.measure(
        settings_.repetitions, [&] { return blast_.there_and_back(kRounds); },
        [&] { return there_and_back(hosts_, queues, kRounds); });
    return figure;
  }

  Figure many() {
    HostStream one(hosts_, {.outstanding = 64});
    HostStream many(hosts_, {.queue_pairs = kQueuePairs, .outstanding = 1});
    Figure figure = named(fmt::format("64 KiB writes, {} QPs", kQueuePairs), "MB/s");
    figure.floor_name = "one queue pair";
    figure.target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.8};
    figure.measure(
        settings_.repetitions, [&] { return one.move(bytes_).mega_per_second(); },
        [&] { return many.move(bytes_).mega_per_second(); });
    many.check();
    tell_retransmitted();
    return figure;
  }

  Figure named(const std::string& name, const char* unit) const {
    return {.name = fmt::format("roce, {}, {}", kind_, name), .unit = unit, .floor_name = kFloor};
  }
  // A figure is good for nothing if packets were lost on the way.
  void tell_retransmitted() {
    const std::uint64_t now = hosts_.host(0).retransmitted() + hosts_.host(1).retransmitted();
    if (now > retransmitted_) {
      std::fprintf(stderr, "roce: %llu packets were sent again\n",
                   static_cast<unsigned long long>(now - retransmitted_));
    }
    retransmitted_ = now;
  }

  const Settings& settings_;
  const char* kind_;
  const std::uint64_t bytes_;
  const std::uint64_t writes_;
  RoceNetworks networks_;
  RocePair hosts_;
  RoceBlast blast_;
  std::uint64_t retransmitted_ = 0;
};

}  // namespace

Figures roce(const Settings& settings) {
  Figures figures;
  for (const Arrival arrival : {Arrival::kWhole, Arrival::kCut}) {
    Measurement(settings, arrival).measure(figures);
  }
  return figures;
}

}  // namespace paravane::bench
