// Resolver finds the MAC addresses of neighbours for a service of the host that has no kernel's IP
// stack behind it, and answers those that ask for its own: ARP for its IPv4 address (RFC 826), and
// neighbour discovery for its link-local address (RFC 4861).
//
// It remembers only what it has asked for, kMostNeighbours at most. What it knows is good for
// kGoodFor; then it asks again, and goes on with what it knows until kTries questions had no
// answer. It has no timer: whatever sends a datagram or makes a connection asks for the MAC address
// each time, and tries again what could not be sent. A connection keeps the one that it began with.
//
// Frames come from strangers. At most kMostFrames a second are taken, and so answered. Whatever the
// network says of an address is believed, as every station of an Ethernet believes it.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "base/counter.h"
#include "base/instant.h"
#include "ipoib/arp.h"
#include "neighbour/solicitation.h"
#include "neighbour/station.h"

namespace paravane::neighbour {

struct ResolverCounters {
  CounterSet set;
  Counter asked{set, "neighbours_asked", "questions for the MAC address of a neighbour"};
  Counter answered{set, "neighbours_answered", "questions of neighbours answered"};
  Counter full{set, "neighbours_full", "neighbours forgotten for lack of room"};
  Counter limited{set, "neighbours_limited", "frames of neighbours above the rate, not taken"};
};

class Resolver {
 public:
  static constexpr std::size_t kMostNeighbours = 256;
  static constexpr Duration kGoodFor = std::chrono::seconds(30);
  static constexpr Duration kAskAgain = std::chrono::seconds(1);
  static constexpr unsigned kTries = 3;
  static constexpr Duration kRivalFor = std::chrono::minutes(5);
  static constexpr unsigned kMostFrames = 200;  // in a second

  explicit Resolver(const Station& station) : station_(station) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  const Station& station() const { return station_; }

  // Sends a frame, or drops it. From now on there is a way to the network, which is told of our
  // IPv4 address; empty: the way is gone, and all is forgotten.
  using Send = std::function<void(std::span<const std::byte> frame)>;
  void use(Send send);

  // The destination's MAC address of packets to `address`. nullopt: it is not known, or no longer;
  // it has been asked for.
  std::optional<MacBytes> mac_of(const Address& address, Instant now);

  // True: the frame was for us. False: it is another's, or above the rate.
  bool take(std::span<const std::byte> frame, Instant now);

  // The MAC address of another station that has our IPv4 address, too; nullopt: none was heard for
  // kRivalFor.
  std::optional<MacBytes> rival(Instant now) const {
    return rival_ && now < rival_heard_ + kRivalFor ? rival_ : std::nullopt;
  }
  const ResolverCounters& counters() const { return counters_; }

 private:
  struct Neighbour {
    std::optional<MacBytes> mac{};
    Instant heard{};
    Instant asked{};
    Instant used{};
    unsigned tries = 0;  // since it was heard
  };

  void ask(const Address& hop, Neighbour& neighbour, Instant now);
  void make_room();
  void hear(const Address& address, const MacBytes& mac, Instant now);
  bool take_arp(const ipoib::EthernetFrame& frame, Instant now);
  bool take_discovery(const ipoib::EthernetFrame& frame, Instant now);
  bool is_above_rate(Instant now);
  void send_arp(const MacBytes& to, ipoib::ArpOperation operation, const MacBytes& target,
                std::uint32_t target_ipv4);

  const Station station_;
  Send send_;
  std::map<Address, Neighbour> neighbours_;
  std::optional<MacBytes> rival_;
  Instant rival_heard_{};
  Instant second_{};  // in which frames that were taken are counted
  unsigned taken_ = 0;
  ResolverCounters counters_;
};

}  // namespace paravane::neighbour
