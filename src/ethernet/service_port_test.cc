// The rules of a service's port, and what becomes of frames in either direction: all that comes to
// an end is compared with what must come.

#include "ethernet/service_port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ethernet/ipv6_off.h"
#include "ethernet/links.h"
#include "ethernet/no_news_test.h"
#include "ethernet/tap.h"
#include "testing/link_frames.h"
#include "testing/own_network.h"
#include "testing/tap_end.h"

namespace paravane::ethernet {
namespace {

using namespace fake;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMark = "paravane:1:";
constexpr const char* kTap = "pv-vmhba32.0";
constexpr MacBytes kMac = {0x02, 0x50, 0x56, 0xA2, 0xB3, 1};
constexpr MacBytes kFarMac = {0x02, 0, 0, 0, 0, 1};
constexpr MacBytes kOther = {0x02, 0, 0, 0, 0, 7};
constexpr MacBytes kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr MacBytes kIpv6Group = {0x33, 0x33, 0, 0, 0, 1};
constexpr std::uint16_t kEndUdp = 4791;
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;

WantedServicePort kWanted() {
  return {.tap = kTap, .label = "vmhba32", .mac = kMac};
}

// With a hop limit that no router leaves.
Frame neighbour_frame(const MacBytes& to, const MacBytes& from, std::uint8_t kind,
                      std::uint8_t hops = 255) {
  Frame frame = ipv6_frame(to, from, 0, 58);
  frame[14 + 7] = hops;
  frame[14 + 40] = kind;
  return frame;
}

// As long as a resolver writes it, with one option that tells of a MAC address.
Frame told_neighbour(const MacBytes& to, const MacBytes& from, std::uint8_t kind,
                     const MacBytes& told) {
  Frame frame = neighbour_frame(to, from, kind);
  frame.resize(14 + 40 + 32);
  frame[14 + 5] = 32;
  frame[14 + 64] = kind == kSolicitation ? 1 : 2;
  frame[14 + 65] = 1;
  std::ranges::copy(told, frame.begin() + 14 + 66);
  return frame;
}

// Whose sender is the one of the frame.
Frame arp_frame(const MacBytes& to, const MacBytes& from) {
  Frame frame = arp_reply(to, from);
  std::ranges::copy(from, frame.begin() + 14 + 8);
  return frame;
}

std::vector<std::string> texts_of(const std::vector<Frame>& frames) {
  std::vector<std::string> texts;
  for (const Frame& frame : frames) texts.push_back(fmt::format("{:02x}", fmt::join(frame, "")));
  return texts;
}

class ServicePortTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    auto links = Links::open();
    ASSERT_TRUE(links && links->add_bridge("br", false));
    ASSERT_TRUE(turn_ipv6_off("br") && network_.ip("link set dev br up"));
    ASSERT_TRUE(make_tap(kTap, {}) && turn_ipv6_off(kTap));
    ASSERT_TRUE(network_.ip(fmt::format("link set {} up master br alias {}vmhba32", kTap, kMark)));
  }
  MadeServicePort ensure() {
    auto made = ensure_service_port(kMark, kWanted());
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : MadeServicePort{};
  }
  void open() {
    ASSERT_THAT(ensure().problems, IsEmpty());
    auto port = open_service_port(kMark, kWanted());
    ASSERT_TRUE(port) << port.error().message;
    header_ = port->header_bytes;
    port_.emplace(std::move(port->tap), header_);
    far_.emplace("far");
    ASSERT_TRUE(far_->is_open() && turn_ipv6_off("far") &&
                network_.ip("link set dev far up master br"));
    // Ports are forwarding a moment after they are up.
    const Frame hello = ipv4_frame(kBroadcast, kFarMac, {});
    bool is_heard = false;
    for (int i = 0; i < 500 && !is_heard; ++i) {
      far_->write(hello);
      is_heard = port_->read(10).has_value();
    }
    ASSERT_TRUE(is_heard);
    const Frame answer = ipv4_frame(kBroadcast, kMac, {});
    is_heard = false;
    for (int i = 0; i < 500 && !is_heard; ++i) {
      port_->write(answer);
      is_heard = far_->read(10).has_value();
    }
    ASSERT_TRUE(is_heard);
    while (port_->read(0)) continue;
    while (far_->read(0)) continue;
  }
  std::vector<Frame> arrivals(const TapEnd& end, const TapEnd& from, const Frame& last,
                              std::size_t header) {
    EXPECT_TRUE(from.write(last));
    std::vector<Frame> frames;
    while (auto frame = end.read(5000)) {
      frame->erase(frame->begin(), frame->begin() + static_cast<std::ptrdiff_t>(header));
      if (*frame == last) return frames;
      frames.push_back(std::move(*frame));
    }
    ADD_FAILURE() << "the last frame has not come";
    return frames;
  }
  std::vector<Frame> at_port() {
    return arrivals(*port_, *far_, ipv4_frame(kMac, kFarMac, {.payload = 19}), header_);
  }
  std::vector<Frame> at_far() {
    return arrivals(*far_, *port_, ipv4_frame(kBroadcast, kMac, {.port = kEndUdp, .payload = 19}),
                    0);
  }

  OwnNetwork network_;
  std::optional<TapEnd> port_, far_;
  std::uint32_t header_ = 0;
};

TEST_F(ServicePortTest, RoceAndQuestionsForAddressesComeToTheEngineAndNothingElse) {
  open();
  const std::vector<Frame> wanted = {
      ipv4_frame(kMac, kFarMac, {}),
      ipv6_frame(kMac, kFarMac, 4791),
      roce_v1_frame(kMac, kFarMac),
      arp_reply(kMac, kFarMac),
      arp_reply(kBroadcast, kFarMac),
      neighbour_frame(kMac, kFarMac, kAdvertisement),
      neighbour_frame(kIpv6Group, kFarMac, kSolicitation),
  };
  const std::vector<Frame> others = {
      ipv4_frame(kMac, kFarMac, {.port = 7}),
      ipv4_frame(kMac, kFarMac, {.protocol = 6}),
      ipv4_frame(kBroadcast, kFarMac, {.port = 67}),
      ipv6_frame(kMac, kFarMac, 7),
      neighbour_frame(kMac, kFarMac, 128),
      neighbour_frame(kMac, kFarMac, kSolicitation, 64),
      neighbour_frame(kIpv6Group, kFarMac, 134),
      arp_reply(kOther, kFarMac),
      neighbour_frame(kOther, kFarMac, kAdvertisement),
      ethernet_frame(kBroadcast, kFarMac, 0x88B5, {}),
  };
  for (const Frame& frame : others) EXPECT_TRUE(far_->write(frame));
  for (const Frame& frame : wanted) EXPECT_TRUE(far_->write(frame));
  EXPECT_EQ(texts_of(at_port()), texts_of(wanted));
}

TEST_F(ServicePortTest, TheEngineSpeaksRoceAndOfAddressesAndWithNoOthersAddress) {
  open();
  const std::vector<Frame> wanted = {
      ipv4_frame(kBroadcast, kMac, {}),
      ipv6_frame(kBroadcast, kMac, 4791),
      roce_v1_frame(kBroadcast, kMac),
      arp_frame(kBroadcast, kMac),
      told_neighbour(kBroadcast, kMac, kSolicitation, kMac),
      told_neighbour(kBroadcast, kMac, kAdvertisement, kMac),
  };
  Frame forged = arp_frame(kBroadcast, kMac);
  forged[14 + 8 + 5] ^= 1;  // the sender that it tells of
  const std::vector<Frame> others = {
      forged,
      arp_frame(kBroadcast, kOther),
      told_neighbour(kBroadcast, kOther, kAdvertisement, kMac),
      told_neighbour(kBroadcast, kMac, kAdvertisement, kOther),
      told_neighbour(kBroadcast, kMac, kSolicitation, kOther),
      neighbour_frame(kBroadcast, kMac, kAdvertisement),
      neighbour_frame(kBroadcast, kMac, 134),
      neighbour_frame(kBroadcast, kMac, kAdvertisement, 64),
      ipv4_frame(kBroadcast, kOther, {}),
      ipv4_frame(kBroadcast, kMac, {.port = 7}),
      ipv6_frame(kBroadcast, kMac, 7),
      with_tag(arp_frame(kBroadcast, kMac), 5),
      ethernet_frame(kBroadcast, kMac, 0x88B5, {}),
  };
  for (const Frame& frame : others) EXPECT_TRUE(port_->write(frame));
  for (const Frame& frame : wanted) EXPECT_TRUE(port_->write(frame));
  EXPECT_EQ(texts_of(at_far()), texts_of(wanted));
}

// Nothing pads what the engine writes.
TEST_F(ServicePortTest, FramesThatEndTooEarlyAreDropped) {
  open();
  for (const Frame& whole :
       {ipv4_frame(kBroadcast, kMac, {}), ipv6_frame(kBroadcast, kMac, 4791),
        arp_frame(kBroadcast, kMac), told_neighbour(kBroadcast, kMac, kAdvertisement, kMac)}) {
    const std::size_t looked_at = whole[12] == 0x08 && whole[13] == 0x06 ? 28
                                  : whole[12] == 0x08                    ? 38
                                  : whole[14 + 6] == 17                  ? 58
                                                                         : 86;
    for (const std::size_t length : {std::size_t{14}, looked_at - 1}) {
      EXPECT_TRUE(
          port_->write(Frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))));
    }
  }
  EXPECT_THAT(texts_of(at_far()), IsEmpty());
}

TEST_F(ServicePortTest, KeepsItsRulesAndTouchesNothingElse) {
  EXPECT_THAT(ensure().problems, IsEmpty());
  auto news = LinkNews::open();
  ASSERT_TRUE(news);
  EXPECT_TRUE(causes_no_news(*news, [this] { EXPECT_THAT(ensure().changes, IsEmpty()); }));
  ASSERT_EQ(std::system(fmt::format("tc filter del dev {} egress", kTap).c_str()), 0);
  const MadeServicePort mended = ensure();
  EXPECT_THAT(mended.problems, IsEmpty());
  ASSERT_EQ(mended.changes.size(), 1u);
  EXPECT_THAT(mended.changes[0].text, HasSubstr("were corrected"));
  EXPECT_TRUE(mended.about.names.contains(kTap) && !mended.about.links.empty());
}

TEST_F(ServicePortTest, TakesNoInterfaceOfOthers) {
  ASSERT_TRUE(network_.ip(fmt::format("link set {} alias other", kTap)));
  const MadeServicePort made = ensure();
  ASSERT_EQ(made.problems.size(), 1u);
  EXPECT_THAT(made.problems[0].text, HasSubstr("did not create"));
  EXPECT_FALSE(open_service_port(kMark, kWanted()));
  ASSERT_TRUE(network_.ip(fmt::format("link del {}", kTap)));
  EXPECT_THAT(ensure().problems.at(0).text, HasSubstr("no such interface"));
}

}  // namespace
}  // namespace paravane::ethernet
