// Does a flood of RoCE frames take a local pair's turns?
//
// A worker serves two queue pairs of its VM, which write to each other, and the VM's RoCE port. A
// machine on the network sends frames to that port for a queue pair that does not exist, as fast as
// a core can. The floor is the same pair without the flood.

#include <atomic>
#include <chrono>
#include <thread>

#include "bench/host_queues.h"
#include "bench/question.h"
#include "bench/roce_host.h"
#include "bench/roce_messages.h"
#include "bench/short_writer.h"
#include "bench/stopwatch.h"
#include "wire/roce/superframe_writer.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kWrites = 8'000'000;
constexpr std::uint32_t kStranger = 2;  // the adapter that sends
constexpr std::uint32_t kNoQueuePair = 0xAB'CDEF;
// Frames per second, and what is kept for the beginning of a run (transport/roce/flood_guard.h).
constexpr double kMostRead = 25'600;
constexpr double kLeastSent = 1;  // million per second

// Both ends of a pair.
class OneHost final : public HostPair {
 public:
  explicit OneHost(WorkerHost& host) : host_(host) {}
  WorkerHost& host(unsigned /*side*/) override { return host_; }

 private:
  WorkerHost& host_;
};

// Sends while it lives.
class Flood {
 public:
  Flood(transport_roce::FrameDoor& door, unsigned core)
      : door_(door), thread_([this, core] {
          const OnCore here(core);
          while (!ends_) send();
        }) {}
  ~Flood() {
    ends_ = true;
    thread_.join();
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  std::uint64_t packets() const { return packets_; }

 private:
  void send() {
    wire::roce::Packet packet = RoceMessages{.bytes = 8}.packet(0);
    packet.destination_qp = kNoQueuePair;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = mac_of(kStranger),
                    .destination_mac = mac_of(0),
                    .source = fake::gid_of_mac(mac_of(kStranger)),
                    .destination = fake::gid_of_mac(mac_of(0)),
                    .hop_limit = 64,
                    .udp_source_port = 0xC000};
    while (writer_.packets() < door_.most_packets()) {
      std::ranges::fill(writer_.add(packet), std::byte{});
      writer_.seal();
    }
    packets_ += writer_.packets();
    send_all(door_, writer_);
  }

  transport_roce::FrameDoor& door_;
  wire::roce::SuperframeWriter writer_{door_.most_packets()};
  std::atomic<std::uint64_t> packets_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

double write(RoceHost& host, HostQueues& queues) {
  ShortWriter writer(queues.end(0), *queues.end(1).buffer, kWrites);
  host.run(&writer);
  writer.await_end();
  host.run(nullptr);
  return writer.million_per_second();
}

}  // namespace

Figures roce_flood(const Settings& settings) {
  RoceNetworks networks;
  RoceHost host(0, settings.cores.worker, networks.open_port(0, 0, Arrival::kCut));
  transport_roce::TapDoor stranger(networks.open_port(1, kStranger, Arrival::kWhole), true,
                                   kRoceMtu);
  OneHost both(host);
  HostQueues queues(both, {.send_requests = ShortWriter::kDepth});
  Figure pair{.name = "roce, a local pair's 64 B writes beside a flood",
              .unit = "million/s",
              .floor_name = "the same pair without the flood",
              .target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.9}};
  Figure sent{.name = "roce, frames of the flood that are sent",
              .unit = "million/s",
              .target = {Target::Of::kValue, Target::Sense::kAtLeast, kLeastSent}};
  Figure read{.name = "roce, frames of the flood that are read",
              .unit = "/s",
              .target = {Target::Of::kValue, Target::Sense::kAtMost, kMostRead}};
  pair.measure(
      settings.repetitions, [&] { return write(host, queues); },
      [&] {
        const std::uint64_t before = host.received();
        const Flood flood(stranger, settings.cores.guest);
        const Stopwatch watch;
        const double rate = write(host, queues);
        const double seconds = watch.seconds();
        sent.ours.add(static_cast<double>(flood.packets()) / seconds / 1e6);
        read.ours.add(static_cast<double>(host.received() - before) / seconds);
        return rate;
      });
  demand(read.ours.median() > 0, "the flood did not arrive");
  return {std::move(pair), std::move(sent), std::move(read)};
}

}  // namespace paravane::bench
