// Frames of strangers on the Ethernet of a host service, between questions of the service.
//
// What must hold besides the sanitizers: what is sent is a frame from our own MAC address, ARP or
// neighbour discovery; answers stay within their rate; a MAC address that is told is one station's;
// and nothing is sent without a way to the network.

#include <cstdint>
#include <span>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib/group_mac.h"
#include "neighbour/resolver.h"
#include "neighbour_frames_script.h"
#include "promise.h"

namespace paravane::fake {
namespace {

using neighbour::Address;
using neighbour::Resolver;
using neighbour::Station;

constexpr std::size_t kMostBytes = 255;

class Network {
 public:
  explicit Network(FuzzBytes& input) : input_(input) { connect(true); }

  void act(NeighbourAct what) {
    switch (what) {
      case NeighbourAct::kFrame: return frame();
      case NeighbourAct::kAsk: return ask();
      case NeighbourAct::kTime: now_ += std::chrono::milliseconds(input_.u16()); return;
      case NeighbourAct::kWay: return connect(input_.u8() % 2 != 0);
      case NeighbourAct::kCount: return;
    }
  }

 private:
  void connect(bool has_way) {
    has_way_ = has_way;
    if (!has_way) return resolver_.use({});
    resolver_.use([this](std::span<const std::byte> bytes) { check_sent(bytes); });
  }
  void frame() {
    std::vector<std::byte> bytes(input_.u8());
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(input_.u8());
    const std::uint64_t before = resolver_.counters().answered.value();
    const bool is_taken = resolver_.take(bytes, now_);
    require(has_way_ || !is_taken);
    require(resolver_.counters().answered.value() <= before + 1);
    const auto rival = resolver_.rival(now_);
    require(!rival || ipoib::is_station_mac(*rival));
  }
  void ask() {
    Address address =
        input_.u8() % 2 == 0 ? neighbour::address_of(0x0A4D0000) : Address{0xFE, 0x80};
    const std::uint16_t last = input_.u16();
    address[14] = static_cast<std::uint8_t>(last >> 8);
    address[15] = static_cast<std::uint8_t>(last);
    const auto mac = resolver_.mac_of(address, now_);
    require(!mac || (has_way_ && ipoib::is_station_mac(*mac)));
  }
  void check_sent(std::span<const std::byte> bytes) const {
    require(has_way_);
    const auto frame = ipoib::read_frame(bytes);
    require(frame && frame->source == station().mac && !frame->vlan);
    require(frame->type == wire::infiniband::kEtherTypeArp ||
            frame->type == wire::roce::kEtherTypeIpv6);
    require(bytes.size() <= kMostBytes);
  }
  static Station station() {
    return {.mac = {2, 0, 0, 0, 0, 9},
            .link_local = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 9},
            .ipv4 = Ipv4Interface{.address = 0x0A4D0009, .prefix = 16}};
  }

  FuzzBytes& input_;
  Resolver resolver_{station()};
  bool has_way_ = false;
  Instant now_{std::chrono::hours(1)};
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paravane::fake;
  FuzzBytes input(data, size);
  Network network(input);
  constexpr auto kActs = static_cast<std::uint32_t>(NeighbourAct::kCount);
  while (!input.at_end()) network.act(static_cast<NeighbourAct>(input.below(kActs)));
  return 0;
}
