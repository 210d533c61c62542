// What becomes of frames: a bridge with the tap of a guest, whose adapter has a RoCE port, and the
// taps of two other hosts. All that comes to one end is compared with what must come.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ethernet/ipv6_off.h"
#include "ethernet/links.h"
#include "ethernet/roce_port.h"
#include "ethernet/roce_rules.h"
#include "ethernet/tap.h"
#include "ethernet/traffic_rules.h"
#include "testing/link_frames.h"
#include "testing/own_network.h"
#include "testing/tap_end.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace fake;

constexpr const char* kOwner = "paravane:1:";
constexpr MacBytes kGuestMac = {0x02, 0x50, 0x56, 0, 0, 9};
constexpr MacBytes kFarMac = {0x02, 0, 0, 0, 0, 1};
constexpr MacBytes kStrangerMac = {0x02, 0, 0, 0, 0, 7};
constexpr MacBytes kUnknownMac = {0x02, 0, 0, 0, 0, 8};  // which the bridge floods
constexpr MacBytes kIpv6Group = {0x33, 0x33, 0, 0, 0, 1};
constexpr MacBytes kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
// struct virtio_net_hdr of linux/virtio_net.h, which C++ cannot read.
struct VnetHeader {
  std::uint8_t flags = 0;         // 1: a checksum is to be filled in
  std::uint8_t segmentation = 0;  // 5: UDP, one packet for each segment
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_bytes = 0;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};
constexpr std::size_t kHeader = sizeof(VnetHeader);
constexpr std::uint16_t kHelloUdp = 7;
constexpr std::uint16_t kEndUdp = 9;

// As a person compares them.
std::string text_of(const Frame& frame) {
  return fmt::format("{} bytes {:02x}", frame.size(), fmt::join(frame, ""));
}
std::vector<std::string> texts_of(const std::vector<Frame>& frames) {
  std::vector<std::string> texts;
  for (const Frame& frame : frames) texts.push_back(text_of(frame));
  return texts;
}

// The forms of a bridge that this kernel has.
std::vector<bool> forms() {
  const OwnNetwork network;
  const bool filters = network.made() && bridges_filter_vlans(kOwner).value_or(false);
  return filters ? std::vector{false, true} : std::vector{false};
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
    ASSERT_THAT(made->problems, IsEmpty()) << made->problems[0].text;
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
    EXPECT_THAT(texts_of(at_far()), IsEmpty());
    EXPECT_THAT(texts_of(at_other()), IsEmpty());
    EXPECT_THAT(texts_of(at_guest()), IsEmpty());
    EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), before + frames.size());
  }
  void expect_superframe_cut(const TapEnd& reader);

  OwnNetwork network_;
  std::optional<Links> links_;
  WantedRocePort wanted_{.name = "pvr-db1", .guest_tap = "pv-db1", .mac = kGuestMac, .mtu = 1500};
  std::optional<TapEnd> guest_, far_, other_, port_;
  std::uint32_t header_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Bridges, RocePortTrafficTest, testing::ValuesIn(forms()),
                         [](const auto& test) { return test.param ? "VlanAware" : "Plain"; });

TEST_P(RocePortTrafficTest, RoceOfOthersComesToThePortAndAllElseToTheGuest) {
  const std::vector<Frame> roce = {
      ipv4_frame(kGuestMac, kFarMac, {}),
      ipv4_frame(kGuestMac, kFarMac, {.payload = 1400}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 0}),
      ipv6_frame(kGuestMac, kFarMac, kRoceUdp),
      roce_v1_frame(kGuestMac, kFarMac),
      ipv4_frame(kBroadcast, kFarMac, {.payload = 64}),
      ipv6_frame(kIpv6Group, kFarMac, kRoceUdp),
  };
  const std::vector<Frame> others = {
      ipv4_frame(kGuestMac, kFarMac, {.port = kHelloUdp}),
      ipv4_frame(kGuestMac, kFarMac, {.protocol = 6}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 0x2000}),
      ipv4_frame(kGuestMac, kFarMac, {.fragment = 3}),
      ipv4_frame(kGuestMac, kFarMac, {.options = true}),
      ipv6_frame(kGuestMac, kFarMac, kHelloUdp),
      ipv6_frame(kGuestMac, kFarMac, kRoceUdp, 44),
      arp_reply(kGuestMac, kFarMac),
      arp_reply(kBroadcast, kFarMac),
      roce_v1_frame(kUnknownMac, kFarMac),
      ipv4_frame(kUnknownMac, kFarMac, {}),
      ipv6_frame(kUnknownMac, kFarMac, kRoceUdp),
      ethernet_frame(kGuestMac, kFarMac, 0x88B5, {}),
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_TRUE(far_->write(others[i]));
    if (i < roce.size()) {
      EXPECT_TRUE(far_->write(roce[i]));
    }
  }
  EXPECT_EQ(texts_of(at_guest()), texts_of(others));
  EXPECT_EQ(texts_of(at_port()), texts_of(roce));
}

TEST_P(RocePortTrafficTest, APriorityTagDoesNotMatterAndAVlanDoes) {
  const Frame roce = ipv4_frame(kGuestMac, kFarMac, {});
  const Frame tagged = with_tag(roce, 0x6000);
  EXPECT_TRUE(far_->write(tagged));
  EXPECT_TRUE(far_->write(with_tag(ipv6_frame(kGuestMac, kFarMac, kRoceUdp), 0x2000)));
  EXPECT_TRUE(far_->write(with_tag(roce_v1_frame(kGuestMac, kFarMac), 0x2000)));
  const auto got = at_port();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(text_of(got[0]), text_of(GetParam() ? roce : tagged));
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  if (GetParam()) return;
  EXPECT_TRUE(far_->write(with_tag(roce, 0x6003)));
  EXPECT_THAT(texts_of(at_guest()), ElementsAre(text_of(with_tag(roce, 0x6003))));
  EXPECT_THAT(texts_of(at_port()), IsEmpty());
}

TEST_P(RocePortTrafficTest, WhatTheEngineWritesComesOutAsFromTheGuest) {
  const std::vector<Frame> frames = {ipv4_frame(kBroadcast, kGuestMac, {}),
                                     ipv6_frame(kBroadcast, kGuestMac, kRoceUdp),
                                     roce_v1_frame(kBroadcast, kGuestMac)};
  std::vector<Frame> of_vlan;
  for (const Frame& frame : frames) {
    EXPECT_TRUE(port_->write(frame));
    of_vlan.push_back(with_tag(frame, 5));
  }
  EXPECT_EQ(texts_of(at_far()), texts_of(frames));
  EXPECT_EQ(texts_of(at_other()), texts_of(GetParam() ? of_vlan : frames));
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), 0u);
  // The bridge has learned where the guest is, so it floods nothing to the others.
  EXPECT_TRUE(far_->write(ipv4_frame(kGuestMac, kFarMac, {.port = kHelloUdp})));
  EXPECT_THAT(texts_of(at_other()), IsEmpty());
  EXPECT_EQ(at_guest().size(), 1u);
}

TEST_P(RocePortTrafficTest, NothingElseOfTheEngineReachesTheNetwork) {
  expect_refused({
      arp_reply(kBroadcast, kGuestMac),
      ipv4_frame(kBroadcast, kGuestMac, {.port = kHelloUdp}),
      ipv4_frame(kBroadcast, kGuestMac, {.protocol = 6}),
      ipv4_frame(kBroadcast, kGuestMac, {.fragment = 0x2000}),
      ipv4_frame(kBroadcast, kGuestMac, {.fragment = 3}),
      ipv4_frame(kBroadcast, kGuestMac, {.options = true}),
      ipv6_frame(kBroadcast, kGuestMac, kHelloUdp),
      ipv6_frame(kBroadcast, kGuestMac, kRoceUdp, 44),
      ethernet_frame(kBroadcast, kGuestMac, 0x88B5, {}),
      with_tag(ipv4_frame(kBroadcast, kGuestMac, {}), 0),
      with_tag(ipv4_frame(kBroadcast, kGuestMac, {}), 5),
  });
}

TEST_P(RocePortTrafficTest, TheEngineSpeaksWithNoOthersAddress) {
  MacBytes almost = kGuestMac;
  almost[5] ^= 1;
  expect_refused({ipv4_frame(kBroadcast, kStrangerMac, {}), ipv4_frame(kBroadcast, almost, {}),
                  ipv6_frame(kBroadcast, kStrangerMac, kRoceUdp),
                  roce_v1_frame(kBroadcast, kStrangerMac), arp_reply(kBroadcast, kStrangerMac)});
}

TEST_P(RocePortTrafficTest, GoesOnAfterItWasMended) {
  for (const char* command : {"tc filter del dev pv-db1 egress", "tc qdisc del dev pv-db1 clsact",
                              "tc qdisc del dev pvr-db1 clsact"}) {
    ASSERT_EQ(std::system(command), 0) << command;
    tie();
    const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
    const Frame out = ipv4_frame(kBroadcast, kGuestMac, {});
    EXPECT_TRUE(far_->write(in));
    EXPECT_TRUE(port_->write(out));
    EXPECT_THAT(texts_of(at_port()), ElementsAre(text_of(in))) << command;
    EXPECT_THAT(texts_of(at_guest()), IsEmpty()) << command;
    EXPECT_THAT(texts_of(at_far()), ElementsAre(text_of(out))) << command;
    other_->read(0);
  }
}

// With its rules gone, frames of an engine that is still there find nothing.
TEST_P(RocePortTrafficTest, WithoutItsRulesItReachesNothing) {
  ASSERT_EQ(std::system("tc qdisc del dev pvr-db1 clsact"), 0);
  EXPECT_TRUE(port_->write(arp_reply(kBroadcast, kGuestMac)));
  EXPECT_TRUE(port_->write(ipv4_frame(kBroadcast, kGuestMac, {})));
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  EXPECT_THAT(texts_of(at_port()), IsEmpty());
}

TEST_P(RocePortTrafficTest, WorksAgainAfterItsTapWasDeletedAndOpenedAnew) {
  ASSERT_TRUE(network_.ip("link del pvr-db1"));
  EXPECT_TRUE(far_->write(ipv4_frame(kGuestMac, kFarMac, {})));  // the port is gone
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
  tie();
  auto port = open_roce_port(kOwner, "pvr-db1");
  ASSERT_TRUE(port) << port.error().message;
  port_.emplace(std::move(port->tap), header_);
  settle();
  const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
  EXPECT_TRUE(far_->write(in));
  EXPECT_THAT(texts_of(at_port()), ElementsAre(text_of(in)));
}

TEST_P(RocePortTrafficTest, TheGuestHasItsRoceBackAfterThePortWasRemoved) {
  ASSERT_TRUE(remove_roce_port(kOwner, "pvr-db1", "pv-db1"));
  const Frame in = ipv4_frame(kGuestMac, kFarMac, {});
  EXPECT_TRUE(far_->write(in));
  EXPECT_THAT(texts_of(at_guest()), ElementsAre(text_of(in)));
}

// The kernel fills in a checksum after the rules have looked, but not over what tells whose the
// frame is.
TEST_P(RocePortTrafficTest, NoChecksumGoesOverTheAddressesOrTheType) {
  if (header_ == 0) GTEST_SKIP() << "frames have no headers";
  for (std::uint16_t at = 0; at < 20; at += 2) {
    const VnetHeader header{.flags = 1, .checksum_offset = at};
    Frame whole(kHeader);
    std::memcpy(whole.data(), &header, sizeof header);
    const Frame frame = roce_v1_frame(kBroadcast, kGuestMac);
    whole.insert(whole.end(), frame.begin(), frame.end());
    EXPECT_FALSE(port_->write_whole(whole)) << at;
  }
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
}

constexpr std::uint16_t kSegment = 1024;

// A frame for several packets, of which the kernel makes one each, whose UDP checksums it fills.
Frame superframe(std::size_t payload, const MacBytes& to = kBroadcast,
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

void expect_packets(const std::vector<Frame>& packets, const Frame& whole) {
  const std::size_t begin = kHeader + 42;
  const std::size_t payload = whole.size() - begin;
  ASSERT_EQ(packets.size(), (payload + kSegment - 1) / kSegment);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Frame& packet = packets[i];
    const std::size_t bytes = std::min<std::size_t>(kSegment, payload - i * kSegment);
    ASSERT_EQ(packet.size(), 42 + bytes) << i;
    EXPECT_EQ(get16(packet, 16), 28 + bytes) << i;  // length of IPv4
    EXPECT_EQ(get16(packet, 18), 100 + i) << i;     // its ID rises
    EXPECT_EQ(get16(packet, 38), 8 + bytes) << i;   // length of UDP
    EXPECT_EQ(checksum_of(packet, 14, 34), 0xFFFF) << i;
    const auto pseudo = static_cast<std::uint32_t>(17 + 8 + bytes);
    EXPECT_EQ(checksum_of(packet, 26, packet.size(), pseudo), 0xFFFF) << i;
    EXPECT_TRUE(std::equal(packet.begin() + 42, packet.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(begin + i * kSegment)));
  }
}

TEST_P(RocePortTrafficTest, ASuperframeComesOutCutIntoPackets) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  for (const std::size_t payload : {std::size_t{5} * kSegment, std::size_t{61} * kSegment + 100}) {
    const Frame whole = superframe(payload);
    ASSERT_TRUE(port_->write_whole(whole)) << payload;
    expect_packets(at_far(), whole);
    other_->read(0);
  }
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), 0u);
}

// The port of another adapter on the same bridge takes it in one piece.
TEST_P(RocePortTrafficTest, ASuperframeStaysWholeOnItsWayToAnotherPort) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  ASSERT_TRUE(network_.ip("link set far alias paravane:1:db2"));
  const WantedRocePort second{.name = "pvr-db2", .guest_tap = "far", .mac = kFarMac, .mtu = 1500};
  ASSERT_THAT(ensure_roce_port(kOwner, second)->problems, IsEmpty());
  auto opened = open_roce_port(kOwner, "pvr-db2");
  ASSERT_TRUE(opened) << opened.error().message;
  // What a holder before this one may have done.
  ASSERT_EQ(::ioctl(opened->tap.get(), TUNSETOFFLOAD, 0UL), 0);
  opened->tap.reset();
  opened = open_roce_port(kOwner, "pvr-db2");
  ASSERT_TRUE(opened) << opened.error().message;
  const TapEnd end(std::move(opened->tap), kHeader);
  const Frame hello = ipv4_frame(kBroadcast, kGuestMac, {.payload = 3});
  std::optional<Frame> got;
  for (int i = 0; i < 500 && !got; ++i) {
    port_->write(hello);
    got = end.read(10);
  }
  while (end.read(0)) continue;
  const Frame whole = superframe(20 * kSegment);
  ASSERT_TRUE(port_->write_whole(whole));
  got = end.read(5000);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->size(), whole.size());
  VnetHeader header;
  std::memcpy(&header, got->data(), sizeof header);
  EXPECT_EQ(header.segmentation, 5);
  EXPECT_EQ(header.segment_bytes, kSegment);
  EXPECT_TRUE(std::equal(got->begin() + kHeader + 42, got->end(), whole.begin() + kHeader + 42));
}

// A superframe with another's address is no less refused.
TEST_P(RocePortTrafficTest, ASuperframeIsJudgedByItsHeaders) {
  if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
  Frame whole = superframe(5 * kSegment);
  whole[kHeader + 6] ^= 4;
  const std::uint64_t before = refused_frames(kOwner, "pvr-db1").value();
  ASSERT_TRUE(port_->write_whole(whole));
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
  EXPECT_EQ(refused_frames(kOwner, "pvr-db1").value(), before + 1);
}

// With a merging pair before the port. Of a kernel without the actions that fill in checksums, the
// pair merges only packets that have one, with the same rules but those; a guest of Debian shows
// the rest (tests/guests/test_merging.py).
class MergingTrafficTest : public RocePortTrafficTest {
 protected:
  void SetUp() override {
    RocePortTrafficTest::SetUp();
    if (HasFatalFailure()) return;
    if (header_ == 0) GTEST_SKIP() << "taps of this kernel know no segmentation of UDP";
    wanted_.merges = Merges::kAll;
    wanted_.merging_end = "pvm-db1";
    wanted_.filling_end = "pvf-db1";
    const auto made = ensure_roce_port(kOwner, wanted_);
    ASSERT_TRUE(made);
    if (!made->unmerged.empty()) tie_without_filling();
    open_second();
  }
  int index_of(const std::string& name) {
    const auto all = links_->list();
    const auto found = std::ranges::find(*all, name, &Link::name);
    return found == all->end() ? 0 : found->index;
  }
  void set_rules(int link, Direction direction, const std::vector<TrafficRule>& wanted) {
    auto rules = TrafficRules::open();
    if (direction == Direction::kReceived) {
      static_cast<void>(rules->remove_hook(link));
      ASSERT_TRUE(rules->add_hook(link));
    }
    for (const TrafficRule& rule : wanted) {
      if (rule.checksum_at != 0) continue;
      ASSERT_TRUE(rules->set(link, direction, rule));
    }
  }
  void tie_without_filling() {
    const int merging = index_of("pvm-db1");
    const int filling = index_of("pvf-db1");
    const int port = index_of("pvr-db1");
    set_rules(filling, Direction::kReceived, rules_of_filling_end(kGuestMac, filling));
    set_rules(merging, Direction::kReceived, rules_of_merging_end(kGuestMac, port));
    ASSERT_TRUE(links_->set_up(merging) && links_->set_up(filling));
    set_rules(
        index_of("pv-db1"), Direction::kSent,
        rules_to_guest(kGuestMac, {.port = port, .merging_end = merging, .merges = Merges::kAll}));
  }
  // Another adapter, from whose port superframes come.
  void open_second() {
    ASSERT_TRUE(network_.ip("link set far alias paravane:1:db2"));
    const WantedRocePort second{.name = "pvr-db2", .guest_tap = "far", .mac = kFarMac, .mtu = 1500};
    ASSERT_THAT(ensure_roce_port(kOwner, second)->problems, IsEmpty());
    auto opened = open_roce_port(kOwner, "pvr-db2");
    ASSERT_TRUE(opened) << opened.error().message;
    second_.emplace(std::move(opened->tap), kHeader);
    bool got = false;
    for (int i = 0; i < 500 && !got; ++i) {
      second_->write(ipv4_frame(kGuestMac, kFarMac, {.payload = 3}));
      while (port_->read(got ? 0 : 10)) got = true;
    }
    ASSERT_TRUE(got);
  }
  // Frames that an interface has received.
  static std::uint64_t received(const std::string& link) {
    const std::string command = "ip -j -s link show dev " + link;
    std::string text;
    FILE* shown = ::popen(command.c_str(), "r");
    for (int c = std::fgetc(shown); c != EOF; c = std::fgetc(shown)) text += static_cast<char>(c);
    ::pclose(shown);
    const std::size_t at = text.find("\"packets\":", text.find("\"rx\":"));
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 10, nullptr, 10);
  }

  std::optional<TapEnd> second_;
};
INSTANTIATE_TEST_SUITE_P(Bridges, MergingTrafficTest, testing::ValuesIn(forms()),
                         [](const auto& test) { return test.param ? "VlanAware" : "Plain"; });

// A frame of many packets, which a guest can send without a checksum too, never comes to where one
// is filled in for the whole.
TEST_P(MergingTrafficTest, IsCutApartBeforeAndMergedAgain) {
  const std::uint64_t before = received("pvf-db1");
  const Frame whole = superframe(20 * kSegment, kGuestMac, kFarMac);
  ASSERT_TRUE(second_->write_whole(whole));
  const auto got = port_->read(5000);
  ASSERT_TRUE(got);
  EXPECT_EQ(received("pvf-db1"), before + 20);
  ASSERT_EQ(got->size(), whole.size());
  VnetHeader header;
  std::memcpy(&header, got->data(), sizeof header);
  EXPECT_EQ(header.segmentation, 5);
  EXPECT_EQ(header.segment_bytes, kSegment);
  EXPECT_EQ(get16(Frame(got->begin() + kHeader, got->end()), 18), 100u);  // of the first
  EXPECT_TRUE(std::equal(got->begin() + kHeader + 42, got->end(), whole.begin() + kHeader + 42));
  EXPECT_FALSE(port_->read(100));
}

// Whatever it is, it comes whole, and in order with others of its flow.
TEST_P(MergingTrafficTest, AllKindsOfRoceComeToThePort) {
  const std::vector<Frame> frames = {
      ipv4_frame(kGuestMac, kFarMac, {.payload = 1400}), ipv4_frame(kGuestMac, kFarMac, {}),
      ipv4_frame(kBroadcast, kFarMac, {.payload = 65}),  ipv6_frame(kGuestMac, kFarMac, kRoceUdp),
      ipv6_frame(kIpv6Group, kFarMac, kRoceUdp),         roce_v1_frame(kGuestMac, kFarMac)};
  for (const Frame& frame : frames) {
    EXPECT_TRUE(second_->write(frame));
    const auto got = port_->read(5000);
    ASSERT_TRUE(got) << text_of(frame);
    Frame came(got->begin() + kHeader, got->end());
    ASSERT_EQ(came.size(), frame.size());
    // The checksum may have been filled in.
    const std::size_t checksum = get16(frame, 12) == 0x0800 ? 40 : 60;
    for (const std::size_t at : {checksum, checksum + 1}) came[at] = frame[at];
    EXPECT_EQ(text_of(came), text_of(frame));
  }
  const Frame tagged = with_tag(ipv4_frame(kGuestMac, kFarMac, {}), 0x6000);
  EXPECT_TRUE(far_->write(tagged));
  EXPECT_EQ(port_->read(5000)->size(), kHeader + tagged.size() - (GetParam() ? 4 : 0));
  EXPECT_TRUE(second_->write_whole(superframe(5 * kSegment, kGuestMac, kFarMac)));
  EXPECT_TRUE(second_->write(ipv4_frame(kGuestMac, kFarMac, {})));
  EXPECT_GT(port_->read(5000)->size(), 5u * kSegment);
  EXPECT_LT(port_->read(5000)->size(), kSegment);
  EXPECT_THAT(texts_of(at_guest()), IsEmpty());
}

// What another program sends to an end of the pair, and what is not the adapter's, goes no further.
TEST_P(MergingTrafficTest, NothingElseComesThroughThePair) {
  const int inside = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  ASSERT_GE(inside, 0) << "needs root";
  const Frame good = ipv4_frame(kGuestMac, kFarMac, {});
  for (const char* end : {"pvm-db1", "pvf-db1"}) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = index_of(end);
    const auto send = [&](const Frame& frame) {
      EXPECT_EQ(::sendto(inside, frame.data(), frame.size(), 0,
                         reinterpret_cast<const sockaddr*>(&address), sizeof address),
                static_cast<ssize_t>(frame.size()));
    };
    for (const Frame& frame :
         {ipv4_frame(kGuestMac, kFarMac, {.port = kHelloUdp}), ipv4_frame(kUnknownMac, kFarMac, {}),
          ipv6_frame(kUnknownMac, kFarMac, kRoceUdp),
          ipv4_frame(kGuestMac, kFarMac, {.protocol = 6}),
          ipv4_frame(kGuestMac, kFarMac, {.options = true}), arp_reply(kBroadcast, kFarMac),
          roce_v1_frame(kGuestMac, kFarMac)}) {
      send(frame);
    }
    EXPECT_FALSE(port_->read(100)) << end;
    send(good);
    EXPECT_TRUE(port_->read(5000)) << end;
  }
  ::close(inside);
}

// The other way there is none.
TEST_P(MergingTrafficTest, NothingOfTheEngineComesToThePair) {
  const std::uint64_t before = received("pvm-db1") + received("pvf-db1");
  for (const Frame& frame :
       {ipv4_frame(kBroadcast, kGuestMac, {}), roce_v1_frame(kBroadcast, kGuestMac),
        ipv4_frame(kGuestMac, kGuestMac, {}), arp_reply(kBroadcast, kGuestMac)}) {
    EXPECT_TRUE(port_->write(frame));
  }
  ASSERT_TRUE(second_->read(5000));
  EXPECT_EQ(received("pvm-db1") + received("pvf-db1"), before);
}

}  // namespace
}  // namespace paravane::ethernet
