// paravane-vm-rates: how fast two VMs are together, as perftest measures an adapter: nothing is
// judged, and what is sent is the same over and over (verify.cc judges).
//
//   paravane-vm-rates MIB PORT [ADDRESS]    the end with ADDRESS sends
//
// Prints one line of JSON: half of a round trip of 8 bytes; then MiB per second of messages of
// 64 KiB one way, and both ways, where both directions count; then of writes of 1 MiB one way.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "endpoint.h"
#include "rendezvous.h"

namespace {

using guest::Endpoint;
using guest::Rendezvous;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::uint32_t kMessage = 64 << 10;
constexpr std::uint32_t kWrite = 1 << 20;
constexpr std::uint32_t kShort = 8;
constexpr int kRoundTrips = 1000;
// Under way, and posted to receive: a sender may know that a message has arrived before its
// receiver has posted the next receive.
constexpr std::uint32_t kSends = 16;
constexpr std::uint32_t kReceives = 32;
constexpr std::size_t kReceiveArea = kWrite;
constexpr std::size_t kBuffer = kReceiveArea + (std::size_t{kReceives} * kMessage);

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void expect_success(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) guest::die("a request has failed");
}

struct Work {
  ibv_wr_opcode opcode;
  std::uint32_t bytes;     // of a request
  std::uint32_t sends;     // requests
  std::uint32_t receives;  // of the peer's messages
};

class End {
 public:
  explicit End(Rendezvous& peer) : peer_(peer) { end_.connect(peer); }

  void meet() {
    peer_.tell(true);
    peer_.hear<bool>();
  }
  // Microseconds of half a round trip.
  double round_trips(bool begins) {
    end_.post_receive(false, kReceiveArea, kShort, 1);
    meet();
    const Clock::time_point began = Clock::now();
    for (int i = 0; i < kRoundTrips; ++i) {
      if (begins) send_short();
      await_short();
      if (i + 1 < kRoundTrips) end_.post_receive(false, kReceiveArea, kShort, 1);
      if (!begins) send_short();
    }
    const double half_us = seconds_since(began) * 1e6 / (2 * kRoundTrips);
    while (sends_under_way_ > 0) take();
    return half_us;
  }
  // MiB/s, until the other end has all.
  double move_all(const Work& work, double mib) {
    std::uint32_t receives_posted = 0;
    std::uint32_t sends_posted = 0;
    received_ = 0;
    const auto post_receives = [&] {
      for (; receives_posted < work.receives && receives_posted - received_ < kReceives;
           ++receives_posted) {
        end_.post_receive(false,
                          kReceiveArea + (std::size_t{receives_posted % kReceives} * kMessage),
                          kMessage, 1);
      }
    };
    post_receives();
    meet();
    const Clock::time_point began = Clock::now();
    while (received_ < work.receives || sends_posted < work.sends || sends_under_way_ > 0) {
      for (; sends_posted < work.sends && sends_under_way_ < kSends; ++sends_posted) {
        send(work.opcode, work.bytes);
      }
      take();
      post_receives();
    }
    meet();
    return mib / seconds_since(began);
  }

 private:
  void send(ibv_wr_opcode opcode, std::uint32_t bytes) {
    ibv_send_wr request{};
    request.opcode = opcode;
    request.wr.rdma.remote_addr = end_.other().buffer;
    request.wr.rdma.rkey = end_.other().rkey;
    end_.post_send(false, request, 0, bytes, 1);
    ++sends_under_way_;
  }
  void send_short() { send(IBV_WR_SEND, kShort); }
  void await_short() {
    for (const std::uint32_t before = received_; received_ == before;) take();
  }
  void take() {
    const ibv_wc completion = end_.wait();
    expect_success(completion);
    if ((completion.opcode & IBV_WC_RECV) != 0) {
      ++received_;
    } else {
      --sends_under_way_;
    }
  }

  Rendezvous& peer_;
  Endpoint end_{kBuffer};
  std::uint32_t sends_under_way_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) guest::die("usage: paravane-vm-rates MIB PORT [ADDRESS]");
  const auto mib = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const bool begins = argc == 4;
  Rendezvous peer = begins ? Rendezvous::reach(argv[3], port) : Rendezvous::serve(port);
  End end(peer);
  const auto messages = static_cast<std::uint32_t>(mib * kMiB / kMessage);
  const double half_us = end.round_trips(begins);
  const Work one_way{IBV_WR_SEND, kMessage, begins ? messages : 0, begins ? 0 : messages};
  end.move_all(one_way, 4);  // memory is registered, lanes are opened
  const double one_way_rate = end.move_all(one_way, mib);
  const double both_ways_rate =
      end.move_all({IBV_WR_SEND, kMessage, messages, messages}, 2.0 * mib);
  const double write_rate = end.move_all({IBV_WR_RDMA_WRITE, kWrite, begins ? mib : 0, 0}, mib);
  std::printf(
      R"({"half_round_trip_us": %.1f, "one_way_mib_per_s": %.2f, "both_ways_mib_per_s": %.2f, )"
      R"("write_mib_per_s": %.2f})"
      "\n",
      half_us, one_way_rate, both_ways_rate, write_rate);
  return 0;
}
