// paravane-trunk-rates: how fast a trunk between two hosts is, as perftest measures an adapter:
// nothing is judged, and what is sent is the same over and over (trunk.cc judges).
//
//   paravane-trunk-rates DEVICE MIB PORT [ADDRESS]    the end with ADDRESS sends
//
// Prints one line of JSON: half of a round trip of 8 bytes while both look without end, as
// ib_send_lat; the same with who waits asleep, as ib_send_lat -e; then MiB one way, and both ways,
// where both directions count.

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rendezvous.h"
#include "transport/hca/trunk_stream.h"
#include "transport/hca/verbs_port.h"

namespace {

using namespace paravane;
using namespace paravane::transport_hca;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kShort = 8;
constexpr int kRoundTrips = 1000;
constexpr int kPatienceMs = 10'000;

template <typename T>
T value_of(Result<T> result) {
  if (!result) guest::die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

class End {
 public:
  explicit End(std::unique_ptr<TrunkPort> port) : stream_(std::move(port)), bytes_(kPiece) {}

  // True: something has moved.
  bool send_some(std::size_t& left) { return move(left, &TrunkStream::write); }
  bool receive_some(std::size_t& left) { return move(left, &TrunkStream::read); }

  void send(std::size_t bytes) {
    while (bytes > 0) send_some(bytes);
  }
  void receive(std::size_t bytes, bool asleep) {
    while (bytes > 0) {
      if (!receive_some(bytes) && asleep) sleep();
    }
  }
  // Both at once, or one of them; asleep while nothing moves.
  void exchange(std::size_t to_send, std::size_t to_receive) {
    while (to_send > 0 || to_receive > 0) {
      const bool has_sent = send_some(to_send);
      const bool has_received = receive_some(to_receive);
      if (!has_sent && !has_received && (to_send > 0 || to_receive > 0)) sleep();
    }
  }

 private:
  template <typename Move>
  bool move(std::size_t& left, Move act) {
    if (left == 0) return false;
    const std::array pieces{
        iovec{.iov_base = bytes_.data(), .iov_len = std::min(left, bytes_.size())}};
    const IoResult result = (stream_.*act)(pieces);
    if (result.kind == IoResult::Kind::kBroken) guest::die(stream_.problem());
    left -= result.bytes;
    return result.bytes > 0;
  }
  void sleep() {
    if (stream_.holds_bytes()) return;
    pollfd waiting{.fd = stream_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0) guest::die("nothing moves any more");
  }

  TrunkStream stream_;
  std::vector<std::byte> bytes_;
};

// Microseconds of half a round trip.
double round_trips(End& end, bool begins, bool asleep) {
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < kRoundTrips; ++i) {
    if (begins) end.send(kShort);
    end.receive(kShort, asleep);
    if (!begins) end.send(kShort);
  }
  return seconds_since(began) * 1e6 / (2 * kRoundTrips);
}

// MiB/s, until the other end has all.
double move_all(End& end, guest::Rendezvous& peer, std::size_t to_send, std::size_t to_receive) {
  peer.tell(true);
  peer.hear<bool>();
  const Clock::time_point began = Clock::now();
  end.exchange(to_send, to_receive);
  peer.tell(true);
  peer.hear<bool>();
  return static_cast<double>(to_send + to_receive) / static_cast<double>(kMiB) /
         seconds_since(began);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) guest::die("usage: paravane-trunk-rates DEVICE MIB PORT [ADDRESS]");
  const std::size_t bytes = std::strtoul(argv[2], nullptr, 10) * kMiB;
  const auto number = static_cast<std::uint16_t>(std::atoi(argv[3]));
  const bool begins = argc > 4;
  guest::Rendezvous peer =
      begins ? guest::Rendezvous::reach(argv[4], number) : guest::Rendezvous::serve(number);
  VerbsDevice::load_providers();
  const auto device = std::static_pointer_cast<VerbsDevice>(
      value_of(VerbsDevice::open({.device = std::string(argv[1])})));
  auto port = value_of(VerbsPort::create(device));
  peer.tell(port->address());
  value_of(port->connect(peer.hear<TrunkAddress>()));
  peer.tell(true);
  peer.hear<bool>();  // it is connected as well
  End end(std::move(port));
  const double awake_us = round_trips(end, begins, false);
  const double asleep_us = round_trips(end, begins, true);
  const double one_way = move_all(end, peer, begins ? bytes : 0, begins ? 0 : bytes);
  const double both_ways = move_all(end, peer, bytes, bytes);
  fmt::print(
      R"({{"half_round_trip_us": {:.1f}, "half_round_trip_asleep_us": {:.1f}, "one_way_mib_per_s": {:.2f}, )"
      R"("both_ways_mib_per_s": {:.2f}}})"
      "\n",
      awake_us, asleep_us, one_way, both_ways);
  return 0;
}
