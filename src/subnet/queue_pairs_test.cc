#include "subnet/queue_pairs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace paravane::subnet {
namespace {

using wire::infiniband::Datagram;
using wire::infiniband::Gid;
using Verdict = QueuePairs::Verdict;

constexpr std::uint32_t kDataQkey = 0x1111'2222;
constexpr std::uint16_t kDataPartition = 0x8005;
constexpr QueuePairs::Facts kDataFacts{.partition = kDataPartition, .qkey = kDataQkey};
constexpr QueuePairs::Group kDataGroup{.lid = 0xC005, .gid = {0xFF, 0x12, 1}};

class HeardDatagrams : public DatagramReceiver {
 public:
  void on_datagram(std::uint32_t queue_pair, const Datagram& packet) override {
    heard.push_back(queue_pair);
    payload = packet.payload.size();
    if (then) then();
  }
  std::vector<std::uint32_t> heard;
  std::size_t payload = 0;
  std::function<void()> then;
};

class QueuePairsTest : public testing::Test {
 protected:
  static Datagram datagram_to(std::uint32_t queue_pair, std::uint16_t partition = kDataPartition,
                              std::uint32_t qkey = kDataQkey) {
    Datagram datagram;
    datagram.headers.destination = 9;
    datagram.headers.partition = partition;
    datagram.headers.qkey = qkey;
    datagram.headers.destination_qp = queue_pair;
    return datagram;
  }
  static Datagram multicast_to(const QueuePairs::Group& group,
                               std::uint16_t partition = kDataPartition,
                               std::uint32_t qkey = kDataQkey) {
    Datagram datagram = datagram_to(wire::infiniband::kMulticastQueuePair, partition, qkey);
    datagram.headers.destination = group.lid;
    datagram.headers.global = wire::infiniband::GlobalRoute{.destination = group.gid};
    return datagram;
  }

  HeardDatagrams receiver_;
  QueuePairs pairs_;
};

TEST_F(QueuePairsTest, AWantedNumberIsGivenIfItIsFree) {
  HeardDatagrams heard;
  QueuePairs pairs;
  EXPECT_EQ(pairs.make(kDataFacts, heard, 0x12'3456), 0x12'3456);
  EXPECT_EQ(pairs.make(kDataFacts, heard, 0x12'3456), QueuePairs::kFirst);
  for (const std::uint32_t impossible : {1u, QueuePairs::kFirst - 1, 0xFF'FFFFu, 0x100'0000u})
    EXPECT_LT(*pairs.make(kDataFacts, heard, impossible), 0x100u) << impossible;
  EXPECT_EQ(pairs.make(kDataFacts, heard, 0xFF'FFFE), 0xFF'FFFE);
  pairs.destroy(0x12'3456);
  EXPECT_EQ(pairs.make(kDataFacts, heard, 0x12'3456), 0x12'3456);
}

TEST_F(QueuePairsTest, NumbersAreBeyondThoseOfManagementAndNotSoonUsedAgain) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    const auto number = pairs_.make(kDataFacts, receiver_);
    ASSERT_TRUE(number.has_value());
    EXPECT_GE(*number, QueuePairs::kFirst);
    EXPECT_TRUE(numbers.insert(*number).second);
    pairs_.destroy(*number);
  }
}

TEST_F(QueuePairsTest, AreBounded) {
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < QueuePairs::kMost; ++i)
    last = pairs_.make(kDataFacts, receiver_).value();
  EXPECT_FALSE(pairs_.make(kDataFacts, receiver_).has_value());
  pairs_.destroy(last);
  EXPECT_TRUE(pairs_.make(kDataFacts, receiver_).has_value());
}

TEST_F(QueuePairsTest, APacketWithBothKeysIsDelivered) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  const std::uint32_t other = pairs_.make(kDataFacts, receiver_).value();
  EXPECT_EQ(pairs_.deliver(datagram_to(other)), Verdict::kDelivered);
  EXPECT_EQ(pairs_.deliver(datagram_to(one)), Verdict::kDelivered);
  EXPECT_EQ(receiver_.heard, (std::vector{other, one}));
}

TEST_F(QueuePairsTest, APacketOfAnotherPartitionIsNotDelivered) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  for (const std::uint16_t partition :
       std::initializer_list<std::uint16_t>{0x8006, 0x0006, 0, 0x8000, 0xFFFF})
    EXPECT_EQ(pairs_.deliver(datagram_to(one, partition)), Verdict::kBadPartition) << partition;
  EXPECT_TRUE(receiver_.heard.empty());
  EXPECT_EQ(pairs_.deliver(datagram_to(one, 0x0005)), Verdict::kDelivered);  // a limited member
  pairs_.change(one, {.partition = 0x0005, .qkey = kDataQkey});
  EXPECT_EQ(pairs_.deliver(datagram_to(one, 0x0005)), Verdict::kBadPartition);  // now both are
  pairs_.change(one, {.partition = 0, .qkey = kDataQkey});
  EXPECT_EQ(pairs_.deliver(datagram_to(one, 0)), Verdict::kBadPartition);
}

TEST_F(QueuePairsTest, APacketWithAnotherQkeyIsNotDelivered) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  for (const std::uint32_t qkey :
       {0U, kDataQkey ^ 1, kDataQkey ^ 0x8000'0000, wire::infiniband::kServiceQkey})
    EXPECT_EQ(pairs_.deliver(datagram_to(one, kDataPartition, qkey)), Verdict::kBadQkey);
  EXPECT_TRUE(receiver_.heard.empty());
  pairs_.change(one, {.partition = kDataPartition, .qkey = 7});
  EXPECT_EQ(pairs_.deliver(datagram_to(one, kDataPartition, 7)), Verdict::kDelivered);
}

TEST_F(QueuePairsTest, APartitionIsJudgedBeforeAQkey) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  EXPECT_EQ(pairs_.deliver(datagram_to(one, 0x8006, 0)), Verdict::kBadPartition);
}

TEST_F(QueuePairsTest, ANumberThatIsNotThereIsUnknown) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  pairs_.destroy(one);
  EXPECT_EQ(pairs_.deliver(datagram_to(one)), Verdict::kUnknown);
  EXPECT_EQ(pairs_.deliver(datagram_to(2)), Verdict::kUnknown);
  pairs_.change(one, kDataFacts);
  pairs_.attach(one, kDataGroup);
  EXPECT_FALSE(pairs_.listens_to(kDataGroup.lid));
}

// ---- Multicast ----

TEST_F(QueuePairsTest, AGroupsMembersAllGetACopy) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  const std::uint32_t other = pairs_.make(kDataFacts, receiver_).value();
  (void)pairs_.make(kDataFacts, receiver_).value();  // no member
  EXPECT_FALSE(pairs_.listens_to(kDataGroup.lid));
  pairs_.attach(one, kDataGroup);
  pairs_.attach(other, kDataGroup);
  pairs_.attach(other, kDataGroup);
  EXPECT_TRUE(pairs_.listens_to(kDataGroup.lid));
  EXPECT_FALSE(pairs_.listens_to(kDataGroup.lid + 1));
  EXPECT_FALSE(pairs_.listens_to(kDataGroup.lid - 1));
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup)), 2u);
  EXPECT_EQ(receiver_.heard, (std::vector{one, other}));
  pairs_.detach(one, kDataGroup);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup)), 1u);
  pairs_.destroy(other);
  EXPECT_FALSE(pairs_.listens_to(kDataGroup.lid));
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup)), 0u);
}

TEST_F(QueuePairsTest, AGroupIsItsLidAndItsGid) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  pairs_.attach(one, kDataGroup);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to({.lid = kDataGroup.lid, .gid = {0xFF, 0x12, 2}})),
            0u);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to({.lid = 0xC006, .gid = kDataGroup.gid})), 0u);
  Datagram without = multicast_to(kDataGroup);
  without.headers.global.reset();
  EXPECT_EQ(pairs_.deliver_multicast(without), 0u);
}

TEST_F(QueuePairsTest, AMembersKeysAreJudgedToo) {
  const std::uint32_t one = pairs_.make(kDataFacts, receiver_).value();
  const std::uint32_t other = pairs_.make({.partition = 0x8006, .qkey = 9}, receiver_).value();
  pairs_.attach(one, kDataGroup);
  pairs_.attach(other, kDataGroup);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup)), 1u);
  EXPECT_EQ(receiver_.heard, (std::vector{one}));
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup, 0x8006)), 0u);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup, kDataPartition, 9)), 0u);
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup, 0x8006, 9)), 1u);
}

TEST_F(QueuePairsTest, AReceiverMayDestroyItsQueuePairs) {
  std::vector<std::uint32_t> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(pairs_.make(kDataFacts, receiver_).value());
    pairs_.attach(all.back(), kDataGroup);
  }
  receiver_.then = [this, &all] {
    for (const std::uint32_t one : all) pairs_.destroy(one);
  };
  EXPECT_EQ(pairs_.deliver_multicast(multicast_to(kDataGroup)), 1u);
  const std::uint32_t alone = pairs_.make(kDataFacts, receiver_).value();
  receiver_.then = [this, alone] { pairs_.destroy(alone); };
  EXPECT_EQ(pairs_.deliver(datagram_to(alone)), Verdict::kDelivered);
  EXPECT_EQ(pairs_.deliver(datagram_to(alone)), Verdict::kUnknown);
}

}  // namespace
}  // namespace paravane::subnet
