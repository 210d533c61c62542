// paravane-retake: takes memory back from an adapter in which a peer's messages arrive, again and
// again, by a reset of its queue pair. What it writes there afterwards must stay.
//
//   paravane-retake ROUNDS PORT            the end that takes memory back
//   paravane-retake ROUNDS PORT ADDRESS    the end that sends
//
// Both are told the same number of rounds. Says how many messages had arrived whole, and how many
// bytes changed after the reset. Ends with 0 if none did.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "endpoint.h"
#include "rendezvous.h"

namespace {

using guest::Endpoint;
using guest::Rendezvous;
using std::chrono::milliseconds;

constexpr std::uint32_t kBytes = 256 * 1024;
constexpr int kMessages = 8;
constexpr std::size_t kAll = std::size_t{kBytes} * kMessages;
constexpr std::uint8_t kSent = 0x11;
constexpr std::uint8_t kOwn = 0x5A;
constexpr milliseconds kFirst(2'000);  // message
constexpr milliseconds kSettle(30);    // for what is on its way

struct Seen {
  int whole = 0;
  std::size_t changed = 0;
};

// In each round it waits for another number of messages before it resets.
void take_back(Endpoint& end, Rendezvous& peer, int round, Seen& seen) {
  for (int i = 0; i < kMessages; ++i) {
    end.post_receive(false, static_cast<std::size_t>(i) * kBytes, kBytes, 1);
  }
  peer.tell<int>(round);
  for (int i = 0; i <= round % (kMessages - 1); ++i) {
    const auto completion = end.wait_for(kFirst);
    if (!completion || completion->status != IBV_WC_SUCCESS) break;
    ++seen.whole;
  }
  end.reset();
  std::memset(end.buffer(), kOwn, kAll);
  static_cast<void>(end.wait_for(kSettle));
  seen.changed +=
      kAll - static_cast<std::size_t>(std::count(end.buffer(), end.buffer() + kAll, kOwn));
  peer.tell<int>(round);
}

void send(Endpoint& end, Rendezvous& peer) {
  peer.hear<int>();
  for (int i = 0; i < kMessages; ++i) {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    end.post_send(false, request, static_cast<std::size_t>(i) * kBytes, kBytes, 1);
  }
  peer.hear<int>();
  end.reset();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) guest::die("usage: paravane-retake ROUNDS PORT [ADDRESS]");
  const int rounds = std::atoi(argv[1]);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const bool sends = argc == 4;
  Endpoint end(kAll);
  Rendezvous peer = sends ? Rendezvous::reach(argv[3], port) : Rendezvous::serve(port);
  std::memset(end.buffer(), kSent, kAll);
  end.connect(peer);
  Seen seen;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) end.connect_again();
    peer.tell<int>(round);
    peer.hear<int>();
    if (sends) {
      send(end, peer);
    } else {
      take_back(end, peer, round, seen);
    }
  }
  if (sends) return 0;
  std::printf("rounds: %d, messages that arrived: %d, bytes changed after a reset: %zu\n", rounds,
              seen.whole, seen.changed);
  return seen.changed == 0 && seen.whole > 0 ? 0 : 1;
}
