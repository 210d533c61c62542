#include "neighbour/resolver.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ipoib/group_mac.h"

namespace paravane::neighbour {
namespace {

using ipoib::ArpOperation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Bytes = std::vector<std::byte>;

constexpr MacBytes kMac{2, 0, 0, 0, 0, 9};
constexpr MacBytes kPeerMac{2, 0, 0, 0, 0, 1};
constexpr MacBytes kOtherMac{2, 0, 0, 0, 0, 7};
constexpr std::array<std::uint8_t, 4> kOwnIpv4{10, 77, 0, 9};
constexpr std::array<std::uint8_t, 4> kPeerIpv4{10, 77, 0, 1};
constexpr Address kLinkLocal{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 9};
constexpr Address kPeerLinkLocal{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1};

Bytes arp_frame(ArpOperation operation, const MacBytes& sender,
                const std::array<std::uint8_t, 4>& sender_ipv4,
                const std::array<std::uint8_t, 4>& target_ipv4, const MacBytes& to = kMac) {
  const auto packet = ipoib::ethernet_arp({.operation = operation,
                                           .sender = sender,
                                           .sender_ipv4 = sender_ipv4,
                                           .target = {},
                                           .target_ipv4 = target_ipv4});
  Bytes frame;
  ipoib::write_frame({.destination = to,
                      .source = sender,
                      .type = wire::infiniband::kEtherTypeArp,
                      .payload = packet},
                     frame);
  return frame;
}

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() { connect(); }
  void connect() {
    resolver_.use([this](std::span<const std::byte> frame) {
      sent_.emplace_back(frame.begin(), frame.end());
    });
  }
  ipoib::EthernetArp last_arp() const {
    const auto frame = ipoib::read_frame(sent_.back());
    EXPECT_TRUE(frame && frame->type == wire::infiniband::kEtherTypeArp);
    const auto arp = ipoib::read_ethernet_arp(frame->payload);
    EXPECT_TRUE(arp);
    return arp.value_or(ipoib::EthernetArp{});
  }
  void learn_peer() {
    EXPECT_FALSE(resolver_.mac_of(peer_, now_));
    EXPECT_TRUE(
        resolver_.take(arp_frame(ArpOperation::kReply, kPeerMac, kPeerIpv4, kOwnIpv4), now_));
  }

  const Station station_{.mac = kMac,
                         .link_local = kLinkLocal,
                         .ipv4 = Ipv4Interface{.address = 0x0A4D0009, .prefix = 24}};
  const Address peer_ = address_of(0x0A4D0001);
  Resolver resolver_{station_};
  std::vector<Bytes> sent_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(ResolverTest, TellsItsAddressWhenItHasAWayToTheNetwork) {
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(last_arp().sender_ipv4, kOwnIpv4);
  EXPECT_EQ(last_arp().target_ipv4, kOwnIpv4);
}

TEST_F(ResolverTest, AsksOnceASecondUntilItKnows) {
  EXPECT_FALSE(resolver_.mac_of(peer_, now_));
  EXPECT_EQ(last_arp().target_ipv4, kPeerIpv4);
  EXPECT_EQ(last_arp().operation, ArpOperation::kRequest);
  const std::size_t asked = sent_.size();
  EXPECT_FALSE(resolver_.mac_of(peer_, now_ + milliseconds(999)));
  EXPECT_EQ(sent_.size(), asked);
  now_ += seconds(1);
  EXPECT_FALSE(resolver_.mac_of(peer_, now_));
  EXPECT_EQ(sent_.size(), asked + 1);
  EXPECT_TRUE(resolver_.take(arp_frame(ArpOperation::kReply, kPeerMac, kPeerIpv4, kOwnIpv4), now_));
  EXPECT_EQ(resolver_.mac_of(peer_, now_), kPeerMac);
}

TEST_F(ResolverTest, AfterThirtySecondsItAsksAgainAndForgetsOneThatIsSilent) {
  learn_peer();
  now_ += Resolver::kGoodFor - milliseconds(1);
  const std::size_t asked = sent_.size();
  EXPECT_EQ(resolver_.mac_of(peer_, now_), kPeerMac);
  EXPECT_EQ(sent_.size(), asked);
  for (unsigned tries = 0; tries < Resolver::kTries; ++tries) {
    now_ += seconds(1);
    EXPECT_EQ(resolver_.mac_of(peer_, now_), kPeerMac) << tries;
  }
  EXPECT_EQ(sent_.size(), asked + Resolver::kTries);
  now_ += seconds(1);
  EXPECT_EQ(resolver_.mac_of(peer_, now_), std::nullopt);
  EXPECT_TRUE(
      resolver_.take(arp_frame(ArpOperation::kReply, kOtherMac, kPeerIpv4, kOwnIpv4), now_));
  EXPECT_EQ(resolver_.mac_of(peer_, now_), kOtherMac);
}

TEST_F(ResolverTest, AnswersQuestionsForItsOwnAddressesAndNoOthers) {
  sent_.clear();
  EXPECT_TRUE(resolver_.take(
      arp_frame(ArpOperation::kRequest, kPeerMac, kPeerIpv4, kOwnIpv4, ipoib::kBroadcastMac),
      now_));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(last_arp().operation, ArpOperation::kReply);
  EXPECT_EQ(last_arp().sender, kMac);
  EXPECT_EQ(last_arp().target, kPeerMac);
  EXPECT_FALSE(resolver_.take(
      arp_frame(ArpOperation::kRequest, kPeerMac, kPeerIpv4, {10, 77, 0, 8}, ipoib::kBroadcastMac),
      now_));
  EXPECT_FALSE(resolver_.take(
      arp_frame(ArpOperation::kRequest, kPeerMac, kPeerIpv4, kOwnIpv4, kOtherMac), now_))
      << "a frame for another";
  const Station peer{.mac = kPeerMac, .link_local = kPeerLinkLocal};
  EXPECT_TRUE(resolver_.take(solicitation_of(peer, kLinkLocal), now_));
  EXPECT_FALSE(resolver_.take(solicitation_of(peer, kPeerLinkLocal), now_));
  ASSERT_EQ(sent_.size(), 2u);
  const auto told = read_advertisement(*ipoib::read_frame(sent_.back()));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->mac, kMac);
  EXPECT_EQ(resolver_.counters().answered.value(), 2u);
}

TEST_F(ResolverTest, FindsLinkLocalNeighbours) {
  EXPECT_FALSE(resolver_.mac_of(kPeerLinkLocal, now_));
  const auto asked = read_solicitation(*ipoib::read_frame(sent_.back()));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->target, kPeerLinkLocal);
  const Station peer{.mac = kPeerMac, .link_local = kPeerLinkLocal};
  EXPECT_TRUE(resolver_.take(advertisement_of(peer, *asked, kMac), now_));
  EXPECT_EQ(resolver_.mac_of(kPeerLinkLocal, now_), kPeerMac);
}

TEST_F(ResolverTest, RemembersNothingThatItDidNotAskFor) {
  EXPECT_FALSE(
      resolver_.take(arp_frame(ArpOperation::kReply, kPeerMac, kPeerIpv4, kOwnIpv4), now_));
  EXPECT_FALSE(resolver_.mac_of(peer_, now_));
  EXPECT_TRUE(resolver_.take(arp_frame(ArpOperation::kReply, kPeerMac, kPeerIpv4, kOwnIpv4), now_));
}

TEST_F(ResolverTest, ForgetsTheLeastUsedOfTooMany) {
  learn_peer();
  for (std::uint32_t i = 0; i < Resolver::kMostNeighbours - 1; ++i) {
    now_ += milliseconds(1);
    resolver_.mac_of(Address{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6,
                             static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)},
                     now_);
  }
  EXPECT_EQ(resolver_.mac_of(peer_, now_), kPeerMac);
  resolver_.mac_of(Address{0xFE, 0x80, 1}, now_);
  EXPECT_EQ(resolver_.counters().full.value(), 1u);
  EXPECT_EQ(resolver_.mac_of(peer_, now_), kPeerMac) << "used since";
}

TEST_F(ResolverTest, AFloodOfQuestionsIsAnsweredToABound) {
  const Bytes question =
      arp_frame(ArpOperation::kRequest, kPeerMac, kPeerIpv4, kOwnIpv4, ipoib::kBroadcastMac);
  unsigned taken = 0;
  for (int i = 0; i < 1000; ++i) taken += resolver_.take(question, now_) ? 1U : 0U;
  EXPECT_EQ(taken, Resolver::kMostFrames);
  EXPECT_EQ(resolver_.counters().limited.value(), 1000 - Resolver::kMostFrames);
  EXPECT_TRUE(resolver_.take(question, now_ + seconds(1)));
}

// It costs as much as questions do.
TEST_F(ResolverTest, AFloodOfAnswersIsTakenToABound) {
  learn_peer();
  const Bytes answer = arp_frame(ArpOperation::kReply, kPeerMac, kPeerIpv4, kOwnIpv4);
  unsigned taken = 1;
  for (int i = 0; i < 1000; ++i) taken += resolver_.take(answer, now_) ? 1U : 0U;
  EXPECT_EQ(taken, Resolver::kMostFrames);
}

TEST_F(ResolverTest, NamesAnotherStationWithItsAddress) {
  EXPECT_FALSE(resolver_.rival(now_));
  resolver_.take(
      arp_frame(ArpOperation::kReply, kOtherMac, kOwnIpv4, kPeerIpv4, ipoib::kBroadcastMac), now_);
  EXPECT_EQ(resolver_.rival(now_), kOtherMac);
  EXPECT_FALSE(resolver_.rival(now_ + Resolver::kRivalFor)) << "it has another since";
  connect();
  EXPECT_FALSE(resolver_.rival(now_));
}

// A station looks whether our address is free (RFC 5227, 2.1.1).
TEST_F(ResolverTest, DefendsItsAddressAgainstAProbe) {
  sent_.clear();
  EXPECT_TRUE(resolver_.take(
      arp_frame(ArpOperation::kRequest, kOtherMac, {}, kOwnIpv4, ipoib::kBroadcastMac), now_));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(last_arp().sender_ipv4, kOwnIpv4);
  EXPECT_FALSE(resolver_.rival(now_));
}

TEST_F(ResolverTest, WithoutAWayToTheNetworkItKnowsAndAnswersNothing) {
  learn_peer();
  resolver_.use({});
  sent_.clear();
  EXPECT_FALSE(resolver_.mac_of(peer_, now_));
  EXPECT_FALSE(resolver_.take(
      arp_frame(ArpOperation::kRequest, kPeerMac, kPeerIpv4, kOwnIpv4, ipoib::kBroadcastMac),
      now_));
  EXPECT_TRUE(sent_.empty());
}

}  // namespace
}  // namespace paravane::neighbour
