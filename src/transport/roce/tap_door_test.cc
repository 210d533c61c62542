// The conformance suite over real taps, joined by a bridge of the kernel.

#include "transport/roce/tap_door.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "testing/own_network.h"
#include "testing/roce_rig.h"
#include "testing/transport_conformance.h"

namespace paravane::fake {
namespace {

using transport_roce::TapDoor;

constexpr unsigned kUso4 = 0x20;  // TUN_F_USO4 and TUN_F_USO6, of Linux 6.2
constexpr unsigned kUso6 = 0x40;

// nullptr: there can be no tap.
std::unique_ptr<TapDoor> make_door(const std::string& name, bool superframes) {
  UniqueFd tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | (superframes ? IFF_VNET_HDR : 0));
  std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
  if (!tap || ::ioctl(tap.get(), TUNSETIFF, &request) != 0) return nullptr;
  const unsigned offloads = TUN_F_CSUM | kUso4 | kUso6;
  if (superframes && ::ioctl(tap.get(), TUNSETOFFLOAD, offloads) != 0) return nullptr;
  return std::make_unique<TapDoor>(std::move(tap), superframes, 1500);
}

// A door that gives a frame to the MAC address 0 the other end's, as a guest's kernel would have.
class AddressingDoor final : public transport_roce::FrameDoor {
 public:
  AddressingDoor(std::unique_ptr<TapDoor> tap, const wire::roce::MacBytes& peer)
      : tap_(std::move(tap)), peer_(peer) {}
  TapDoor& tap() { return *tap_; }
  std::optional<Received> receive() override { return tap_->receive(); }
  bool send(const wire::roce::SuperframeWriter::Whole& whole) override {
    FrameBytes bytes(whole.frame.begin(), whole.frame.end());
    const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
    if (std::ranges::all_of(std::span(bytes).first(peer_.size()), is_zero)) {
      std::memcpy(bytes.data(), peer_.data(), peer_.size());
    }
    auto addressed = whole;
    addressed.frame = bytes;
    return tap_->send(addressed);
  }
  std::size_t most_packets() const override { return tap_->most_packets(); }

 private:
  std::unique_ptr<TapDoor> tap_;
  wire::roce::MacBytes peer_;
};

// Two taps in a bridge, in a network of their own.
class BridgedTaps {
 public:
  BridgedTaps(bool sends_superframes, bool receives_superframes) {
    std::array taps{make_door("tap0", sends_superframes), make_door("tap1", receives_superframes)};
    network_.ip("link add br0 mtu 4300 type bridge mcast_snooping 0");
    for (const std::string tap : {"tap0", "tap1"}) {
      network_.ip("link set " + tap + " mtu 4300 master br0 addrgenmode none");
      network_.ip("link set " + tap + " txqueuelen 8192 up");
    }
    network_.ip("link set br0 addrgenmode none up");
    if (!taps[0] || !taps[1] || !network_.is_there("br0")) {
      std::fprintf(stderr, "no taps can be made: this test needs root and ip(8)\n");
      std::abort();
    }
    for (unsigned side = 0; side < 2; ++side) {
      doors_.at(side) =
          std::make_unique<AddressingDoor>(std::move(taps.at(side)), RoceRig::mac(1 - side));
    }
  }
  std::array<transport_roce::FrameDoor*, 2> doors() const {
    return {doors_[0].get(), doors_[1].get()};
  }
  bool has_frames() const {
    std::array polled{pollfd{doors_[0]->tap().fd(), POLLIN, 0},
                      pollfd{doors_[1]->tap().fd(), POLLIN, 0}};
    return ::poll(polled.data(), polled.size(), 0) > 0;
  }

 private:
  OwnNetwork network_;
  std::array<std::unique_ptr<AddressingDoor>, 2> doors_;
};

class TapsRig : private BridgedTaps, public RoceRig {
 public:
  TapsRig(bool sends_superframes, bool receives_superframes)
      : BridgedTaps(sends_superframes, receives_superframes),
        RoceRig(doors(), [this] { return has_frames(); }) {}
};

// The kernel cuts superframes apart for the other tap, which has no USO.
struct CutTapsRig : TapsRig {
  static constexpr std::uint64_t kLongestMessage = 16 << 20;
  CutTapsRig() : TapsRig(true, false) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(CutTaps, TransportConformance, CutTapsRig);

}  // namespace
}  // namespace paravane::fake
