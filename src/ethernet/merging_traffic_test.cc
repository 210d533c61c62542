// What becomes of frames that come through a merging pair before a RoCE port.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ethernet/roce_port_traffic_test.h"
#include "ethernet/roce_rules.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet::port_traffic {
namespace {

using testing::IsEmpty;

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

// In the other direction nothing is merged.
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
}  // namespace paravane::ethernet::port_traffic
