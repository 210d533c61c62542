#include "subnet/segment_table.h"

#include <gtest/gtest.h>

#include "subnet/segment_test.h"

namespace paravane::subnet {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using wire::infiniband::kSegmentFirst;
using wire::infiniband::kSegmentLast;
using wire::infiniband::MadBytes;
using wire::infiniband::segment_header_of;
using wire::infiniband::SegmentType;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
// As a table of NodeRecords: 108 bytes each, in steps of eight.
constexpr std::size_t kNodeRecords = 200 * std::size_t{112};

void send_from_a(SegmentWire& wire, std::size_t data_bytes, const LongMad& as = {},
                 const SegmentSender::Options& options = {}) {
  ASSERT_TRUE(wire.a.table.send(wire.b.address, long_mad(data_bytes, as), as.transaction, options,
                                wire.now()));
}
void expect_joined(const SegmentPort& port, std::size_t data_bytes, const LongMad& as = {}) {
  ASSERT_EQ(port.heard.joined.size(), 1u) << data_bytes;
  EXPECT_EQ(without_segment_header(port.heard.joined[0].second),
            without_segment_header(long_mad(data_bytes, as)))
      << data_bytes;
}

TEST(SegmentTableTest, MadsOfAllSizesArriveAsTheyWereSent) {
  std::vector<std::size_t> sizes = {0, kNodeRecords, kMostBytes - kSaHeaders};
  for (const std::size_t segments : {1u, 2u, 3u}) {
    for (const std::size_t more : {0u, 1u, 2u}) sizes.push_back(segments * kSaData - 1 + more);
  }
  for (const std::size_t size : sizes) {
    SegmentWire wire;
    send_from_a(wire, size);
    ASSERT_TRUE(wire.run());
    expect_joined(wire.b, size);
    EXPECT_EQ(wire.a.heard.sent, std::vector<std::uint64_t>{1});
    EXPECT_TRUE(wire.a.heard.failed.empty());
    EXPECT_EQ(wire.a.table.sending() + wire.b.table.receiving(), 0u);
    EXPECT_EQ(wire.a.table.bytes_sending() + wire.b.table.bytes_receiving(), 0u);
  }
}

TEST(SegmentTableTest, MadsOfAllClassesWithSegmentsArrive) {
  for (const int one : {0x03, 0x06, 0x10, 0x12, 0x30, 0x4F}) {
    const LongMad as{.management_class = static_cast<std::uint8_t>(one)};
    for (const std::size_t size : {0u, 192u, 193u, 200u, 216u, 217u, 5000u}) {
      SegmentWire wire;
      send_from_a(wire, size, as);
      ASSERT_TRUE(wire.run());
      expect_joined(wire.b, size, as);
    }
  }
}

// Every transfer ends soon, and what was reported as sent is with the peer, whatever the wire does.
TEST(SegmentTableTest, ABadWireEndsInDeliveryOrFailure) {
  constexpr SegmentWire::Weather kWeathers[] = {
      {.lost = 0.02, .repeated = 0.02, .most_delay = milliseconds(20)},
      {.lost = 0.2, .repeated = 0.2, .most_delay = milliseconds(500)},
      {.lost = 0, .repeated = 0.5, .most_delay = seconds(3)},
      {.lost = 0.6, .repeated = 0, .most_delay = milliseconds(1)},
      {.lost = 1, .repeated = 0, .most_delay = milliseconds(1)},
  };
  std::size_t delivered = 0;
  std::size_t failed = 0;
  for (const auto& weather : kWeathers) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SegmentWire wire(seed, weather);
      for (std::uint64_t tag = 1; tag <= 8; ++tag) {
        SegmentPort& from = tag % 2 == 0 ? wire.a : wire.b;
        const SegmentPort& to = tag % 2 == 0 ? wire.b : wire.a;
        ASSERT_TRUE(from.table.send(to.address, long_mad(tag * tag * 300, {.transaction = tag}),
                                    tag, {.expects_answer = tag > 4}, wire.now()));
      }
      ASSERT_TRUE(wire.run(minutes(2))) << seed;
      for (const auto& [from, to] : {std::pair(&wire.a, &wire.b), std::pair(&wire.b, &wire.a)}) {
        EXPECT_EQ(from->heard.sent.size() + from->heard.failed.size(), 4u);
        EXPECT_EQ(from->table.sending() + from->table.receiving(), 0u);
        for (const std::uint64_t tag : from->heard.sent) {
          const auto mad = without_segment_header(long_mad(tag * tag * 300, {.transaction = tag}));
          EXPECT_TRUE(std::ranges::any_of(to->heard.joined, [&](const auto& joined) {
            return without_segment_header(joined.second) == mad;
          })) << seed;
        }
        delivered += from->heard.sent.size();
        failed += from->heard.failed.size();
      }
    }
  }
  EXPECT_GT(delivered, 200u);
  EXPECT_GT(failed, 96u);  // all of the last weather, at least
}

TEST(SegmentTableTest, AMadOfAMegabyteArrivesOverAPoorWire) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SegmentWire wire(
        seed, {.lost = 0.0005, .repeated = 0.01, .most_delay = std::chrono::microseconds(50)});
    send_from_a(wire, kMostBytes - kSaHeaders);
    ASSERT_TRUE(wire.run());
    EXPECT_EQ(wire.a.heard.sent.size(), 1u);
    expect_joined(wire.b, kMostBytes - kSaHeaders);
  }
}

TEST(SegmentTableTest, NoSegmentIsBeyondTheWindowThatTheReceiverGave) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SegmentPort a(1);
    SegmentPort b(2);
    std::mt19937_64 random(seed);
    Instant now{};
    std::uint32_t window = 1;
    ASSERT_TRUE(a.table.send(b.address, long_mad(kNodeRecords), 1, {.retries = 9}, now));
    while (a.heard.sent.empty()) {
      ASSERT_TRUE(a.heard.failed.empty());
      for (const auto& [to, mad] : std::exchange(a.heard.packets, {})) {
        ASSERT_LE(segment_header_of(mad).number.get(), window);
        if (random() % 10 != 0) b.table.on_packet(a.address, mad, now);
      }
      for (const auto& [to, mad] : std::exchange(b.heard.packets, {})) {
        ASSERT_EQ(segment_header_of(mad).type, SegmentType::kAck);
        if (random() % 10 == 0) continue;
        window = std::max(window, segment_header_of(mad).length_window.get());
        a.table.on_packet(b.address, mad, now);
      }
      if (a.heard.packets.empty() && a.heard.sent.empty()) {
        now = std::max(now, a.table.next_deadline());
        a.table.on_time(now);
      }
    }
    expect_joined(b, kNodeRecords);
  }
}

// GetMulti: question and answer both come in segments.
TEST(SegmentTableTest, AnAnswerFollowsAQuestionOfTheSameTransaction) {
  SegmentWire wire;
  send_from_a(wire, 5000, {.method = 0x14}, {.expects_answer = true});
  ASSERT_TRUE(wire.run(seconds(1)) || !wire.b.heard.joined.empty());
  expect_joined(wire.b, 5000, {.method = 0x14});
  ASSERT_TRUE(
      wire.b.table.send(wire.a.address, long_mad(7000, {.method = 0x94}), 7, {}, wire.now()));
  ASSERT_TRUE(wire.run());
  expect_joined(wire.a, 7000, {.method = 0x94});
  EXPECT_EQ(wire.b.heard.sent, std::vector<std::uint64_t>{7});
}

TEST(SegmentTableTest, AnAnswerBeginsWithTheWindowThatItsPeerGave) {
  SegmentPort b(2);
  const MadAddress peer{.lid = 1, .qp = 1, .global = {}};
  const Instant now{};
  const LongMad question{.method = 0x14};
  b.table.on_packet(peer, data_segment(1, kSegmentFirst | kSegmentLast, 220, question), now);
  MadBytes go_on = data_segment(0, 0, 5, question);
  go_on[25] = std::byte{2};
  b.table.on_packet(peer, go_on, now);
  b.heard.packets.clear();
  ASSERT_TRUE(b.table.send(peer, long_mad(7000, {.method = 0x94}), 7, {}, now));
  EXPECT_EQ(b.heard.packets.size(), 5u);
}

TEST(SegmentTableTest, WhatIsNoSegmentIsNotItsBusiness) {
  SegmentPort port(1);
  MadBytes mad = data_segment(1, kSegmentFirst | kSegmentLast, 220);
  mad[26] = std::byte{kSegmentFirst | kSegmentLast};
  EXPECT_FALSE(port.table.on_packet({}, mad, {}));
  MadBytes other = data_segment(1, kSegmentFirst | kSegmentLast, 220);
  other[1] = std::byte{0x04};
  EXPECT_FALSE(port.table.on_packet({}, other, {}));
  EXPECT_TRUE(port.heard.packets.empty());
  EXPECT_TRUE(port.table.on_packet({}, data_segment(1, kSegmentFirst | kSegmentLast, 220), {}));
}

TEST(SegmentTableTest, RefusesWhatItCannotSend) {
  SegmentPort port(1, {.bytes_of_peer = 5000, .bytes_of_mad = 3000});
  const auto refusal = [&](std::size_t bytes, const LongMad& as) {
    const auto sent = port.table.send({}, long_mad(bytes, as), 1, {}, {});
    return sent ? std::nullopt : std::optional(sent.error());
  };
  EXPECT_EQ(refusal(10, {.management_class = 0x04}), SegmentRefusal::kNoSegments);
  EXPECT_EQ(refusal(3000, {}), SegmentRefusal::kTooLong);
  EXPECT_EQ(refusal(2900, {}), std::nullopt);
  EXPECT_EQ(refusal(2900, {}), SegmentRefusal::kDuplicate);
  EXPECT_EQ(refusal(2900, {.transaction = 2}), SegmentRefusal::kNoRoom);
  EXPECT_EQ(port.table.bytes_sending(), 2900 + kSaHeaders);
  port.table.forget(1);
  EXPECT_EQ(port.table.sending(), 0u);
  EXPECT_EQ(port.table.next_deadline(), kNever);
  EXPECT_EQ(refusal(2900, {.transaction = 2}), std::nullopt);
  EXPECT_TRUE(port.heard.failed.empty());
}

TEST(SegmentTableTest, ForgetsAllOfATag) {
  SegmentPort port(1);
  const auto send = [&](std::uint64_t transaction, std::uint64_t tag) {
    return port.table.send({}, long_mad(1000, {.transaction = transaction}), tag, {}, {});
  };
  ASSERT_TRUE(send(1, 7) && send(2, 8) && send(3, 7) && send(4, 7));
  port.table.forget(7);
  EXPECT_EQ(port.table.sending(), 1u);
  EXPECT_EQ(port.table.bytes_sending(), 1000 + kSaHeaders);
}

}  // namespace
}  // namespace paravane::subnet
