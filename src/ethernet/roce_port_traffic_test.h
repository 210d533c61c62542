// A bridge with the tap of a guest, whose adapter has a RoCE port, and the taps of two other hosts.
// Used by the tests of what becomes of frames. Needs root.

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ethernet/ipv6_off.h"
#include "ethernet/links.h"
#include "ethernet/roce_port.h"
#include "ethernet/tap.h"
#include "testing/link_frames.h"
#include "testing/own_network.h"
#include "testing/tap_end.h"

namespace paravane::ethernet::port_traffic {

using namespace fake;

inline constexpr const char* kOwner = "paravane:1:";
inline constexpr MacBytes kGuestMac = {0x02, 0x50, 0x56, 0, 0, 9};
inline constexpr MacBytes kFarMac = {0x02, 0, 0, 0, 0, 1};
inline constexpr MacBytes kStrangerMac = {0x02, 0, 0, 0, 0, 7};
inline constexpr MacBytes kUnknownMac = {0x02, 0, 0, 0, 0, 8};  // which the bridge floods
inline constexpr MacBytes kIpv6Group = {0x33, 0x33, 0, 0, 0, 1};
inline constexpr MacBytes kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
// struct virtio_net_hdr of linux/virtio_net.h, which C++ cannot read.
struct VnetHeader {
  std::uint8_t flags = 0;         // 1: a checksum is to be filled in
  std::uint8_t segmentation = 0;  // 5: UDP, one packet for each segment
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_bytes = 0;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};
inline constexpr std::size_t kHeader = sizeof(VnetHeader);
inline constexpr std::uint16_t kHelloUdp = 7;
inline constexpr std::uint16_t kEndUdp = 9;

// As a person compares them.
inline std::string text_of(const Frame& frame) {
  return fmt::format("{} bytes {:02x}", frame.size(), fmt::join(frame, ""));
}
inline std::vector<std::string> texts_of(const std::vector<Frame>& frames) {
  std::vector<std::string> texts;
  for (const Frame& frame : frames) texts.push_back(text_of(frame));
  return texts;
}

// The forms of a bridge that this kernel has.
inline std::vector<bool> forms() {
  const OwnNetwork network;
  const bool filters = network.made() && bridges_filter_vlans(kOwner).value_or(false);
  return filters ? std::vector{false, true} : std::vector{false};
}

inline constexpr std::uint16_t kSegment = 1024;

// A frame for several packets, of which the kernel makes one each, whose UDP checksums it fills.
inline Frame superframe(std::size_t payload, const MacBytes& to = kBroadcast,
                        const MacBytes& from = kGuestMac) {
  Frame frame = ipv4_frame(to, from, {.payload = payload});
  // The sum of the pseudo header, as the kernel wants to find it.
  const std::uint32_t sum =
      checksum_of(frame, 14 + 12, 14 + 20, 17 + static_cast<std::uint32_t>(8 + payload));
  frame[40] = static_cast<std::uint8_t>(sum >> 8);
  frame[41] = static_cast<std::uint8_t>(sum);
  const VnetHeader header{.flags = 1,
                          .segmentation = 5,
                          .header_bytes = 42,
                          .segment_bytes = kSegment,
                          .checksum_start = 34,
                          .checksum_offset = 6};
  Frame all(kHeader);
  std::memcpy(all.data(), &header, sizeof header);
  all.insert(all.end(), frame.begin(), frame.end());
  return all;
}

// True: a bridge that filters VLANs, in which the guest is in VLAN 5.
class RocePortTrafficTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    auto links = Links::open();
    ASSERT_TRUE(links);
    links_.emplace(std::move(*links));
    ASSERT_TRUE(links_->add_bridge("br", GetParam()));
    ASSERT_TRUE(turn_ipv6_off("br") && network_.ip("link set dev br up"));
    ASSERT_TRUE(make_tap("pv-db1", {}));
    ASSERT_TRUE(network_.ip("link set pv-db1 alias paravane:1:db1"));
    guest_ = add("pv-db1");
    far_ = add("far");
    other_ = add("other");
    ASSERT_TRUE(guest_ && far_ && other_);
    tie();
    auto port = open_roce_port(kOwner, "pvr-db1");
    ASSERT_TRUE(port) << port.error().message;
    header_ = port->header_bytes;
    port_.emplace(std::move(port->tap), header_);
    settle();
  }
  void tie() {
    const auto made = ensure_roce_port(kOwner, wanted_);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_THAT(made->problems, testing::IsEmpty()) << made->problems[0].text;
  }
  std::optional<TapEnd> add(const std::string& name) {
    TapEnd end(name);
    if (!end.is_open() || !turn_ipv6_off(name) ||
        !network_.ip(fmt::format("link set dev {} up master br", name))) {
      return std::nullopt;
    }
    const std::uint16_t vid = name == "far" || name == "pv-db1" ? 5 : 6;
    PortVlans vlans{.pvid = vid, .untagged_by_vid = {{vid, true}}};
    // The third is on a trunk, and sees which VLAN a frame is in.
    if (name == "other") vlans = {.pvid = 6, .untagged_by_vid = {{5, false}, {6, true}}};
    for (const Link& link : *links_->list()) {
      if (GetParam() && link.name == name) {
        EXPECT_TRUE(links_->set_port_vlans(link.index, {}, vlans));
      }
    }
    return end;
  }
  // Until each end can speak to the others: ports are forwarding a moment after they are up.
  void settle() {
    const auto reaches = [](const TapEnd& from, const Frame& frame, const TapEnd& to) {
      bool got = false;
      for (int i = 0; i < 500 && !got; ++i) {
        from.write(frame);
        while (const auto seen = to.read(got ? 0 : 10)) got = true;
      }
      return got;
    };
    const Frame hello = ipv4_frame(kBroadcast, kStrangerMac, {.port = kHelloUdp});
    const Frame roce = ipv4_frame(kBroadcast, kStrangerMac, {});
    ASSERT_TRUE(reaches(*guest_, hello, *far_));
    ASSERT_TRUE(reaches(*guest_, hello, *other_));
    ASSERT_TRUE(reaches(*far_, hello, *guest_));
    ASSERT_TRUE(reaches(*far_, roce, *port_));
    for (const TapEnd* end : {&*guest_, &*far_, &*other_, &*port_}) {
      while (end->read(0)) continue;
    }
  }

  // What has come to an end until a frame of `ends`, which is sent to it last.
  static std::vector<Frame> all_until(const TapEnd& end, const TapEnd& from, const Frame& last) {
    EXPECT_TRUE(from.write(last));
    std::vector<Frame> frames;
    while (auto frame = end.read(5000)) {
      const bool is_last =
          frame->size() >= last.size() && std::equal(last.rbegin(), last.rend(), frame->rbegin());
      if (is_last) return frames;
      frames.push_back(std::move(*frame));
    }
    ADD_FAILURE() << "the last frame has not come";
    return frames;
  }
  std::vector<Frame> at_guest() const {
    return all_until(*guest_, *far_, ipv4_frame(kGuestMac, kFarMac, {.port = kEndUdp}));
  }
  // Without their vnet headers.
  std::vector<Frame> at_port() const {
    const Frame last = ipv4_frame(kGuestMac, kFarMac, {.payload = 19});
    std::vector<Frame> frames = all_until(*port_, *far_, last);
    for (Frame& frame : frames) frame.erase(frame.begin(), frame.begin() + header_);
    return frames;
  }
  std::vector<Frame> at_far() const {
    return all_until(*far_, *guest_, ipv4_frame(kBroadcast, kStrangerMac, {.port = kEndUdp}));
  }
  std::vector<Frame> at_other() const {
    Frame last = ipv4_frame(kBroadcast, kStrangerMac, {.port = kEndUdp});
    if (GetParam()) last = with_tag(last, 5);
    EXPECT_TRUE(guest_->write(ipv4_frame(kBroadcast, kStrangerMac, {.port = kEndUdp})));
    std::vector<Frame> frames;
    while (auto frame = other_->read(5000)) {
      if (*frame == last) return frames;
      frames.push_back(std::move(*frame));
    }
    ADD_FAILURE() << "the last frame has not come";
    return frames;
  }
  // That frames of a broken engine count, and reach nothing.
  void expect_refused(const std::vector<Frame>& frames) {
    const std::uint64_t before = refused_frames(kOwner, "pvr-db1").value();
    for (const Frame& frame : frames) EXPECT_TRUE(port_->write(frame));
    EXPECT_THAT(texts_of(at_far()), testing::IsEmpty());
    EXPECT_THAT(texts_of(at_other()), testing::IsEmpty());
    EXPECT_THAT(texts_of(at_guest()), testing::IsEmpty());
    EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), before + frames.size());
  }
  void expect_superframe_cut(const TapEnd& reader);

  OwnNetwork network_;
  std::optional<Links> links_;
  WantedRocePort wanted_{.name = "pvr-db1", .guest_tap = "pv-db1", .mac = kGuestMac, .mtu = 1500};
  std::optional<TapEnd> guest_, far_, other_, port_;
  std::uint32_t header_ = 0;
};

}  // namespace paravane::ethernet::port_traffic
