#include "ipoib/own_addresses.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>

#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {
namespace {

using std::chrono::seconds;
using subnet::QueuePairs;
using wire::infiniband::Datagram;

constexpr QueuePairs::Facts kFacts{.partition = 0xFFFF, .qkey = 0x0B1B};

class CountingReceiver final : public subnet::DatagramReceiver {
 public:
  void on_datagram(std::uint32_t /*queue_pair*/, const Datagram& /*packet*/) override { ++packets; }
  unsigned packets = 0;
};

class OwnAddressesTest : public testing::Test {
 protected:
  static MacBytes mac(unsigned number) {
    return {0,
            0x16,
            0x3E,
            0,
            static_cast<std::uint8_t>(number >> 8),
            static_cast<std::uint8_t>(number)};
  }
  const OwnAddresses::Address* use(unsigned number, std::uint16_t vlan = 0) {
    return addresses_.use(mac(number), vlan, kFacts, now_);
  }
  // A packet has come to it, too.
  const OwnAddresses::Address* use_answered(unsigned number, std::uint16_t vlan = 0) {
    const OwnAddresses::Address* made = use(number, vlan);
    if (made != nullptr) addresses_.answered(made->queue_pair);
    return made;
  }
  QueuePairs::Verdict deliver(std::uint32_t queue_pair, const QueuePairs::Facts& facts) {
    return pairs_.deliver(Datagram{
        .headers = {.partition = facts.partition, .qkey = facts.qkey, .destination_qp = queue_pair},
        .payload = {}});
  }

  QueuePairs pairs_;
  CountingReceiver receiver_;
  OwnAddresses addresses_{pairs_, receiver_};
  Instant now_{std::chrono::hours(1)};
};

TEST_F(OwnAddressesTest, AnAddressHasItsNumberAgainAfterAStart) {
  std::map<std::uint32_t, unsigned> seen;
  for (unsigned i = 0; i < 200; ++i) {
    const MacBytes mac{
        0x02, 0x50, 0x56, 0, static_cast<std::uint8_t>(i >> 4), static_cast<std::uint8_t>(i)};
    const auto number_in_a_new_room = [&](std::uint16_t vlan) {
      subnet::QueuePairs queue_pairs;
      OwnAddresses addresses(queue_pairs, receiver_);
      return addresses.use(mac, vlan, {}, Instant{})->queue_pair;
    };
    EXPECT_EQ(number_in_a_new_room(0), number_in_a_new_room(0));
    EXPECT_NE(number_in_a_new_room(0), number_in_a_new_room(10));
    EXPECT_TRUE(has_remote_mac({.number = number_in_a_new_room(0), .lid = 1}));
    ++seen[number_in_a_new_room(0)];
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST_F(OwnAddressesTest, EachHasAQueuePair) {
  const OwnAddresses::Address* made = use(1);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->mac, mac(1));
  EXPECT_EQ(made->vlan, 0);
  const std::uint32_t first = made->queue_pair;
  EXPECT_EQ(deliver(first, kFacts), QueuePairs::Verdict::kDelivered);
  EXPECT_EQ(receiver_.packets, 1u);
  made = use(2);
  ASSERT_NE(made, nullptr);
  EXPECT_NE(made->queue_pair, first);
  EXPECT_EQ(use(1)->queue_pair, first) << "the same again";
  EXPECT_EQ(addresses_.size(), 2u);
  EXPECT_EQ(addresses_.find(mac(1), 0)->queue_pair, first);
  EXPECT_EQ(addresses_.find(first)->mac, mac(1));
  EXPECT_EQ(addresses_.find(mac(3), 0), nullptr);
  EXPECT_EQ(addresses_.find(first + 100), nullptr);
}

TEST_F(OwnAddressesTest, AMacInTwoVlansIsTwo) {
  const std::uint32_t untagged = use(1)->queue_pair;
  const std::uint32_t tagged = use(1, 5)->queue_pair;
  EXPECT_NE(untagged, tagged);
  EXPECT_EQ(addresses_.find(mac(1), 0)->queue_pair, untagged);
  EXPECT_EQ(addresses_.find(mac(1), 5)->queue_pair, tagged);
  EXPECT_EQ(addresses_.find(mac(1), 6), nullptr);
}

TEST_F(OwnAddressesTest, AVlanIsChangedAlone) {
  const std::uint32_t untagged = use(1)->queue_pair;
  const std::uint32_t tagged = use(1, 5)->queue_pair;
  const QueuePairs::Facts others{.partition = 0x8005, .qkey = 7};
  addresses_.change(5, others);
  EXPECT_EQ(deliver(untagged, kFacts), QueuePairs::Verdict::kDelivered);
  EXPECT_EQ(deliver(tagged, kFacts), QueuePairs::Verdict::kBadPartition);
  EXPECT_EQ(deliver(tagged, others), QueuePairs::Verdict::kDelivered);
}

TEST_F(OwnAddressesTest, AVlanIsForgottenAlone) {
  const std::uint32_t untagged = use(1)->queue_pair;
  const std::uint32_t tagged = use(1, 5)->queue_pair;
  const std::uint32_t other = use(2, 5)->queue_pair;
  addresses_.forget(5);
  EXPECT_EQ(addresses_.size(), 1u);
  EXPECT_EQ(addresses_.find(mac(1), 5), nullptr);
  EXPECT_EQ(addresses_.find(tagged), nullptr);
  EXPECT_EQ(deliver(tagged, kFacts), QueuePairs::Verdict::kUnknown);
  EXPECT_EQ(deliver(other, kFacts), QueuePairs::Verdict::kUnknown);
  EXPECT_EQ(deliver(untagged, kFacts), QueuePairs::Verdict::kDelivered);
  EXPECT_NE(use(1, 5), nullptr);
}

// ---- Room ----

TEST_F(OwnAddressesTest, ThereAreAtMostSoMany) {
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) ASSERT_NE(use_answered(i), nullptr) << i;
  EXPECT_EQ(use(OwnAddresses::kMost), nullptr);
  EXPECT_EQ(addresses_.size(), OwnAddresses::kMost);
  EXPECT_NE(use(7), nullptr) << "one that is known";
}

TEST_F(OwnAddressesTest, TheLongestSilentGivesWayAfterFiveMinutes) {
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) {
    ASSERT_NE(use_answered(i), nullptr);
    now_ += std::chrono::milliseconds(1);
  }
  const std::uint32_t second = addresses_.find(mac(1), 0)->queue_pair;
  ASSERT_NE(use(0), nullptr) << "it speaks, and is the last to give way";
  const Instant spoke = addresses_.find(mac(1), 0)->last_used;
  now_ = spoke + OwnAddresses::kIdle - Duration(1);
  EXPECT_EQ(use(1000), nullptr);
  now_ = spoke + OwnAddresses::kIdle;
  const OwnAddresses::Address* made = use_answered(1000);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(addresses_.size(), OwnAddresses::kMost);
  EXPECT_EQ(addresses_.find(mac(1), 0), nullptr);
  EXPECT_NE(addresses_.find(mac(0), 0), nullptr);
  EXPECT_EQ(deliver(second, kFacts), QueuePairs::Verdict::kUnknown);
  EXPECT_EQ(use(1001), nullptr) << "the third has spoken a millisecond later";
}

TEST_F(OwnAddressesTest, OneThatTalksKeepsItsPlaceInAFlood) {
  // Its first frames, and an answer, are older than all of the flood.
  for (unsigned i = 0; i < 20; ++i) ASSERT_NE(use_answered(i), nullptr);
  for (unsigned i = 0; i < 4 * OwnAddresses::kMost; ++i) {
    now_ += std::chrono::milliseconds(1);
    ASSERT_NE(use(1000 + i), nullptr) << i;
  }
  EXPECT_EQ(addresses_.size(), OwnAddresses::kMost);
  for (unsigned i = 0; i < 20; ++i) EXPECT_NE(addresses_.find(mac(i), 0), nullptr) << i;
  ASSERT_NE(use(30), nullptr) << "one that begins has room, too";
  addresses_.answered(addresses_.find(mac(30), 0)->queue_pair);
  for (unsigned i = 0; i < 4 * OwnAddresses::kMost; ++i) ASSERT_NE(use(9000 + i), nullptr) << i;
  EXPECT_NE(addresses_.find(mac(30), 0), nullptr);
}

TEST_F(OwnAddressesTest, TheLongestSilentOfAFloodGivesWayFirst) {
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) {
    ASSERT_NE(use(i), nullptr);
    now_ += std::chrono::milliseconds(1);
  }
  ASSERT_NE(use(0), nullptr);
  ASSERT_NE(use(1000), nullptr);
  EXPECT_EQ(addresses_.find(mac(1), 0), nullptr);
  EXPECT_NE(addresses_.find(mac(0), 0), nullptr);
  EXPECT_NE(addresses_.find(mac(2), 0), nullptr);
}

TEST_F(OwnAddressesTest, AFloodInAVlanTakesItsOwnPlaces) {
  for (unsigned i = 0; i < 20; ++i) ASSERT_NE(use(i, 5), nullptr);
  for (unsigned i = 0; i < 4 * OwnAddresses::kMost; ++i) {
    now_ += std::chrono::milliseconds(1);
    ASSERT_NE(use(1000 + i, 6), nullptr) << i;
  }
  EXPECT_EQ(addresses_.size(), OwnAddresses::kMost);
  for (unsigned i = 0; i < 20; ++i) EXPECT_NE(addresses_.find(mac(i), 5), nullptr) << i;
}

TEST_F(OwnAddressesTest, AVlanHasRoomForAFew) {
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) {
    ASSERT_NE(use_answered(i), nullptr);
    now_ += std::chrono::milliseconds(1);
  }
  for (unsigned i = 0; i < OwnAddresses::kOfEachVlan; ++i)
    ASSERT_NE(use_answered(i, 5), nullptr) << i;
  EXPECT_EQ(use(1000, 5), nullptr) << "what has had packets keeps its place";
  EXPECT_EQ(use(1000), nullptr);
  EXPECT_EQ(addresses_.size(), OwnAddresses::kMost);
  EXPECT_EQ(addresses_.find(mac(OwnAddresses::kOfEachVlan - 1), 0), nullptr);
  EXPECT_NE(addresses_.find(mac(OwnAddresses::kOfEachVlan), 0), nullptr);
}

TEST_F(OwnAddressesTest, VlansWithAFewKeepThese) {
  constexpr std::size_t kVlans = OwnAddresses::kMost / OwnAddresses::kOfEachVlan;
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i)
    ASSERT_NE(use_answered(i, static_cast<std::uint16_t>(1 + i % kVlans)), nullptr);
  EXPECT_EQ(use(1000, 100), nullptr);
  EXPECT_EQ(use(1000, 1), nullptr);
}

TEST_F(OwnAddressesTest, AnAnswerLeavesTheOrderOfTheirFrames) {
  for (unsigned i = 0; i < OwnAddresses::kMost; ++i) {
    ASSERT_NE(use(i), nullptr);
    now_ += std::chrono::milliseconds(1);
  }
  // The other way round.
  for (unsigned i = OwnAddresses::kMost; i-- > 0;)
    addresses_.answered(addresses_.find(mac(i), 0)->queue_pair);
  addresses_.answered(0x1234567);
  now_ += OwnAddresses::kIdle;
  ASSERT_NE(use(1000), nullptr);
  EXPECT_EQ(addresses_.find(mac(0), 0), nullptr);
  EXPECT_NE(addresses_.find(mac(1), 0), nullptr);
}

TEST_F(OwnAddressesTest, NoAddressGetsTheNumberOfAnother) {
  const std::uint32_t first = use(1)->queue_pair;
  addresses_.forget(0);
  std::set<std::uint32_t> used{first};
  for (unsigned i = 2; i < 200; ++i) {
    EXPECT_TRUE(used.insert(use(i)->queue_pair).second) << i;
  }
  EXPECT_EQ(use(1)->queue_pair, first);
}

TEST_F(OwnAddressesTest, WithoutQueuePairsThereIsNone) {
  std::uint32_t other = 0;
  while (const auto made = pairs_.make(kFacts, receiver_)) other = *made;
  EXPECT_EQ(use(1), nullptr);
  EXPECT_EQ(addresses_.size(), 0u);
  EXPECT_EQ(addresses_.find(mac(1), 0), nullptr);
  pairs_.destroy(other);
  EXPECT_NE(use(1), nullptr);
  EXPECT_EQ(use(2), nullptr);
  EXPECT_NE(use(1), nullptr);
}

TEST_F(OwnAddressesTest, QueuePairsEndWithThem) {
  std::uint32_t number = 0;
  {
    OwnAddresses others(pairs_, receiver_);
    number = others.use(mac(1), 0, kFacts, now_)->queue_pair;
    EXPECT_EQ(deliver(number, kFacts), QueuePairs::Verdict::kDelivered);
  }
  EXPECT_EQ(deliver(number, kFacts), QueuePairs::Verdict::kUnknown);
}

}  // namespace
}  // namespace paravane::ipoib
