#include "bench/roce_blast.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench/stopwatch.h"
#include "bench/vm.h"

namespace paravane::bench {
namespace {

using transport_roce::FrameDoor;
using wire::roce::Packet;
using wire::roce::SuperframeWriter;

constexpr std::uint32_t kFirstAdapter = 2;
constexpr std::uint64_t kMostUnderWay = 512;  // packets, as of a queue pair
constexpr double kPatience = 10;              // seconds

std::array<std::uint8_t, 16> gid_of(unsigned side) {
  return fake::gid_of_mac(mac_of(kFirstAdapter + side));
}

wire::roce::Route route_of(unsigned from) {
  return {.network = wire::roce::Network::kV2Ipv6,
          .source_mac = mac_of(kFirstAdapter + from),
          .destination_mac = mac_of(kFirstAdapter + 1 - from),
          .source = gid_of(from),
          .destination = gid_of(1 - from),
          .hop_limit = 64,
          .udp_source_port = 0xC000};
}

// What is known of the receiver.
struct Progress {
  std::atomic<std::uint64_t> packets{0};
  std::atomic<bool> gives_up{false};
};

void send_messages(FrameDoor& door, const RoceMessages& messages, std::uint64_t count,
                   const Progress& there) {
  RoceFrames frames(messages, route_of(0), door);
  for (std::uint64_t message = 0; message < count; ++message) {
    const auto is_far = [&] {
      return frames.packets() + messages.packets() - there.packets.load() > kMostUnderWay;
    };
    if (is_far()) frames.flush();
    while (is_far() && !there.gives_up) std::this_thread::yield();
    frames.send_message();
  }
  frames.flush();
}

void receive_packets(FrameDoor& door, std::uint64_t packets, std::uint64_t bytes, Progress& here) {
  std::uint64_t got = 0;
  std::uint64_t got_bytes = 0;
  std::uint64_t seen = 0;  // packets, since when nothing has come
  Stopwatch watch;
  while (got < packets) {
    const auto received = door.receive();
    if (!received) {
      if (got != seen) {
        seen = got;
        watch = {};
      }
      here.gives_up = watch.seconds() > kPatience;
      if (here.gives_up) break;
      std::this_thread::yield();
      continue;
    }
    got += read_frame(*received, got_bytes);
    here.packets.store(got);
  }
  demand(got == packets && got_bytes == bytes, "packets of the blast were lost");
}

}  // namespace

RoceBlast::RoceBlast(const Settings& settings, RoceNetworks& networks, Arrival arrival)
    : cores_(settings.cores),
      doors_{Door(networks.open_port(0, kFirstAdapter, arrival), true, kRoceMtu),
             Door(networks.open_port(1, kFirstAdapter + 1, arrival), true, kRoceMtu)} {
  settle();
}

void RoceBlast::settle() {
  for (unsigned from = 0; from < 2; ++from) {
    SuperframeWriter writer(1);
    Packet packet = RoceMessages{.bytes = 8}.packet(0);
    packet.route = route_of(from);
    bool arrived = false;
    const Stopwatch watch;
    while (!arrived) {
      demand(watch.seconds() < kPatience, "two RoCE ports do not reach each other");
      std::ranges::fill(writer.add(packet), std::byte{});
      writer.seal();
      send_all(doors_.at(from), writer);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      while (doors_.at(1 - from).receive()) arrived = true;
    }
  }
}

Traffic RoceBlast::move(const RoceMessages& messages, std::uint64_t bytes) {
  const std::uint64_t count = std::max<std::uint64_t>(bytes / messages.bytes, 1);
  Progress progress;
  Traffic traffic{.bytes = static_cast<double>(count * messages.bytes)};
  const auto on = [&](unsigned core, unsigned side, auto work) {
    return std::thread([&traffic, core, side, work] {
      const OnCore here(core);
      work();
      traffic.cpu_seconds[side] = thread_cpu_seconds();
    });
  };
  const Stopwatch watch;
  std::thread receives = on(cores_.worker, 1, [&] {
    receive_packets(doors_[1], count * messages.packets(), count * messages.bytes, progress);
  });
  std::thread sends =
      on(cores_.guest, 0, [&] { send_messages(doors_[0], messages, count, progress); });
  sends.join();
  receives.join();
  traffic.seconds = watch.seconds();
  return traffic;
}

double RoceBlast::there_and_back(std::uint64_t rounds) {
  const auto play = [this, rounds](unsigned side) {
    SuperframeWriter writer(1);
    Packet packet = RoceMessages{.bytes = 8}.packet(0);
    packet.route = route_of(side);
    const auto say = [&] {
      std::ranges::fill(writer.add(packet), std::byte{});
      writer.seal();
      send_all(doors_.at(side), writer);
    };
    const auto hear = [&] {
      const Stopwatch watch;
      std::uint64_t bytes = 0;
      auto received = doors_.at(side).receive();
      for (; !received; received = doors_.at(side).receive()) {
        demand(watch.seconds() < kPatience, "a packet there and back was lost");
        pause_core();
      }
      read_frame(*received, bytes);
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (side == 0) say();
      hear();
      if (side == 1) say();
    }
  };
  std::thread answers([&] {
    const OnCore here(cores_.worker);
    play(1);
  });
  double elapsed = 0;
  std::thread asks([&] {
    const OnCore here(cores_.guest);
    const Stopwatch watch;
    play(0);
    elapsed = watch.microseconds();
  });
  asks.join();
  answers.join();
  return elapsed / static_cast<double>(rounds);
}

}  // namespace paravane::bench
