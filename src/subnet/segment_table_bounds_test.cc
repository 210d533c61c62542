#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "subnet/segment_table.h"
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
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

class CrowdedTableTest : public testing::Test {
 protected:
  static constexpr SegmentLimits kLimits{.transfers = 6,
                                         .transfers_of_peer = 3,
                                         .bytes = 5000,
                                         .bytes_of_peer = 2000,
                                         .bytes_of_mad = 1800};

  // What is said for a packet from a LID; nothing: zero.
  SegmentType give(std::uint16_t lid, const MadBytes& mad) {
    port_.table.on_packet({.lid = lid, .qp = next_qp_ ? ++qp_ : 1, .global = {}}, mad, now_);
    const auto packets = std::exchange(port_.heard.packets, {});
    EXPECT_LE(packets.size(), 1u);
    return packets.empty() ? SegmentType{0} : segment_header_of(packets[0].second).type;
  }
  SegmentType begin(std::uint16_t lid, std::uint64_t transaction, bool is_last = false) {
    const auto flags = static_cast<std::uint8_t>(kSegmentFirst | (is_last ? kSegmentLast : 0));
    return give(lid, data_segment(1, flags, 220, {.transaction = transaction}));
  }

  Instant now_{};
  SegmentPort port_{9, kLimits};
  bool next_qp_ = false;
  std::uint32_t qp_ = 1;
};

TEST_F(CrowdedTableTest, NoPeerHasMoreThanItsShareAndAllTogetherNotMoreThanThereIs) {
  next_qp_ = true;  // a peer is a LID
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(begin(1, i), SegmentType::kAck);
  EXPECT_EQ(begin(1, 4), SegmentType::kStop);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(begin(2, i), SegmentType::kAck);
  EXPECT_EQ(begin(3, 1), SegmentType::kStop);
  EXPECT_EQ(port_.table.receiving(), 6u);
  EXPECT_EQ(port_.table.sending(), 0u);
  now_ += seconds(40);
  port_.table.on_time(now_);
  EXPECT_EQ(port_.table.receiving(), 0u);
  EXPECT_EQ(port_.heard.packets.size(), 6u);
  port_.heard.packets.clear();
  EXPECT_EQ(begin(3, 1), SegmentType::kAck);
}

TEST_F(CrowdedTableTest, WhatHasFinishedMakesRoom) {
  for (std::uint64_t i = 0; i < 9; ++i) {
    now_ += milliseconds(1);
    EXPECT_EQ(begin(1, i, true), SegmentType::kAck);
  }
  EXPECT_EQ(port_.heard.joined.size(), 9u);
  EXPECT_EQ(port_.table.receiving(), 3u);
  EXPECT_EQ(begin(1, 8, true), SegmentType::kAck);  // it is remembered
  EXPECT_EQ(begin(2, 1), SegmentType::kAck);
  EXPECT_EQ(begin(2, 2), SegmentType::kAck);
  EXPECT_EQ(begin(2, 3), SegmentType::kAck);
  EXPECT_EQ(begin(3, 1), SegmentType::kAck);  // in the place of the oldest
  EXPECT_EQ(port_.heard.joined.size(), 9u);
  EXPECT_EQ(port_.table.receiving(), 6u);
  EXPECT_EQ(begin(1, 8, true), SegmentType::kAck);
  EXPECT_EQ(port_.heard.joined.size(), 9u);
}

TEST_F(CrowdedTableTest, BytesOfAPeerAndOfAllAreBounded) {
  EXPECT_EQ(begin(1, 1), SegmentType::kAck);
  EXPECT_EQ(begin(1, 2), SegmentType::kAck);
  std::uint32_t number = 2;
  for (; number < 8; ++number) {
    EXPECT_EQ(give(1, data_segment(number, 0, 0, {.transaction = 1})), SegmentType{0});
  }
  for (number = 2; give(1, data_segment(number, 0, 0, {.transaction = 2})) == SegmentType{0};) {
    ASSERT_LE(++number, 9u);
    EXPECT_LE(port_.table.bytes_receiving(), kLimits.bytes_of_peer);
  }
  EXPECT_EQ(port_.table.receiving(), 1u);
  for (std::uint16_t lid = 2; lid < 9; ++lid) {
    begin(lid, 1);
    for (number = 2; number < 9; ++number) {
      give(lid, data_segment(number, 0, 0, {.transaction = 1}));
      EXPECT_LE(port_.table.bytes_receiving(), kLimits.bytes);
    }
  }
}

// ---- Programs, and all ports ----

MadAddress peer_at(std::uint16_t lid) {
  return {.lid = lid, .qp = 1, .global = {}};
}

// Of a MAD of 2000 bytes; nullopt: it is sent.
std::optional<SegmentRefusal> refusal_of(SegmentTable& table, std::uint16_t lid,
                                         std::uint64_t program = 0) {
  const auto sent = table.send(peer_at(lid), long_mad(2000), 1, {}, {}, program);
  return sent ? std::nullopt : std::optional(sent.error());
}

TEST(ProgramBytesTest, BytesThatAProgramSendsAreBounded) {
  SegmentPort port(9, {.bytes_of_program = 3000});
  const auto send = [&port](std::uint16_t lid, std::uint64_t program) {
    return refusal_of(port.table, lid, program);
  };
  EXPECT_EQ(send(1, 7), std::nullopt);
  EXPECT_EQ(send(2, 7), SegmentRefusal::kNoRoom);
  EXPECT_EQ(send(2, 8), std::nullopt);
  port.table.forget(1);
  EXPECT_EQ(send(2, 7), std::nullopt);
}

TEST(ProgramBytesTest, BytesThatAProgramReceivesAreBounded) {
  SegmentPort port(9, {.bytes_of_program = 3000});
  // Whether it is stopped.
  const auto give = [&port](std::uint16_t lid, std::uint32_t number, std::uint64_t program) {
    port.table.on_packet(peer_at(lid), data_segment(number, number == 1 ? kSegmentFirst : 0, 0), {},
                         program);
    const auto packets = std::exchange(port.heard.packets, {});
    return !packets.empty() && segment_header_of(packets[0].second).type == SegmentType::kStop;
  };
  std::uint32_t stopped = 0;
  for (std::uint16_t lid = 1; lid < 10 && stopped == 0; ++lid) {
    for (std::uint32_t number = 1; number < 5 && stopped == 0; ++number) {
      if (give(lid, number, 7)) stopped = lid;
      EXPECT_LE(port.table.bytes_receiving(), 3000u);
    }
  }
  EXPECT_GT(stopped, 2u);
  for (std::uint32_t number = 1; number < 5; ++number) EXPECT_FALSE(give(20, number, 8));
}

TEST(SegmentRoomTest, AllPortsOfASubnetShareIt) {
  SegmentRoom room(5000);
  HeardSegments heard;
  auto first = std::make_unique<SegmentTable>(heard, SegmentLimits{}, &room);
  SegmentTable second(heard, {}, &room);
  EXPECT_EQ(refusal_of(*first, 1), std::nullopt);
  EXPECT_EQ(refusal_of(*first, 2), std::nullopt);
  EXPECT_EQ(refusal_of(second, 1), SegmentRefusal::kNoRoom);
  // The other way has a room of its own.
  second.on_packet(peer_at(3), data_segment(1, kSegmentFirst, 0), {});
  EXPECT_EQ(second.receiving(), 1u);
  EXPECT_EQ(room.used(kReceives), second.bytes_receiving());
  first.reset();
  EXPECT_EQ(room.used(kSends), 0u);
  EXPECT_EQ(refusal_of(second, 1), std::nullopt);
}

TEST_F(CrowdedTableTest, TheDirectionsHaveRoomOfTheirOwn) {
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(begin(1, i), SegmentType::kAck);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(port_.table.send({.lid = 1, .qp = 1, .global = {}},
                                 long_mad(10, {.transaction = i}), i, {}, now_));
  }
  EXPECT_EQ(
      port_.table
          .send({.lid = 1, .qp = 1, .global = {}}, long_mad(10, {.transaction = 9}), 9, {}, now_)
          .error(),
      SegmentRefusal::kNoRoom);
}

TEST_F(CrowdedTableTest, PeersWithOneTransactionAreNotMixedUp) {
  wire::infiniband::GlobalRoute route;
  for (std::uint8_t gid = 0; gid < 2; ++gid) {
    route.destination[15] = gid;
    port_.table.on_packet({.lid = 1, .qp = 1, .global = route}, data_segment(1, kSegmentFirst, 0),
                          now_);
  }
  port_.heard.packets.clear();
  begin(1, 1);
  EXPECT_EQ(port_.table.receiving(), 3u);
}

// Nothing of what a stranger sends ends a transfer of others, or is answered more than once.
TEST(HostileSegmentsTest, RandomHeadersCrashNothingAndStayWithinBounds) {
  constexpr SegmentLimits kLimits{.transfers = 20,
                                  .transfers_of_peer = 8,
                                  .bytes = 60'000,
                                  .bytes_of_peer = 20'000,
                                  .bytes_of_mad = 8'000};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&random](std::initializer_list<std::uint32_t> some) {
      return random() % 8 == 0 ? static_cast<std::uint32_t>(random())
                               : std::data(some)[random() % some.size()];
    };
    SegmentPort port(9, kLimits);
    Instant now{};
    for (int packet = 0; packet < 2500; ++packet) {
      const LongMad as{.transaction = random() % 3,
                       .method = static_cast<std::uint8_t>(random() % 2 == 0 ? 0x92 : 0x12)};
      SegmentHeader header;
      header.version = static_cast<std::uint8_t>(random() % 50 == 0 ? random() : 1);
      header.type = static_cast<SegmentType>(one_of({1, 1, 1, 1, 2, 2, 3, 4}));
      header.time_flags = static_cast<std::uint8_t>(random() | 1);
      header.status = static_cast<std::uint8_t>(random() % 9 == 0 ? random() : 0);
      header.number.set(one_of({0, 1, 1, 2, 3, 4, 5, 65, 66}));
      if (header.number.get() == 1) header.time_flags |= kSegmentFirst;
      header.length_window.set(one_of({0, 1, 20, 65, 129, 220, 221, 4000, 0xFFFF'FFFF}));
      const MadAddress from{.lid = static_cast<std::uint16_t>(random() % 5), .qp = 1, .global = {}};
      if (random() % 10 == 0) {
        const auto sent =
            port.table.send(from, long_mad(random() % 9000, as), seed, {.retries = 1}, now);
        ASSERT_LE(port.heard.packets.size(), sent ? SegmentSender::kBurst : 0);
        port.heard.packets.clear();
      }
      ASSERT_TRUE(port.table.on_packet(from, with_header(data_segment(1, 0, 0, as), header), now));
      ASSERT_LE(port.heard.packets.size(), SegmentSender::kBurst);
      port.heard.packets.clear();
      now += milliseconds(random() % 50);
      for (int turns = 0; port.table.next_deadline() <= now; ++turns) {
        ASSERT_LT(turns, 10);
        port.table.on_time(now);
      }
      port.heard.packets.clear();
      ASSERT_LE(port.table.receiving(), kLimits.transfers);
      ASSERT_LE(port.table.sending(), kLimits.transfers);
      ASSERT_LE(port.table.bytes_receiving(), kLimits.bytes);
      ASSERT_LE(port.table.bytes_sending(), kLimits.bytes);
    }
    for (const auto& [from, mad] : port.heard.joined) ASSERT_LE(mad.size(), kLimits.bytes_of_mad);
    now += minutes(5);
    while (port.table.next_deadline() != kNever) port.table.on_time(now += seconds(1));
    EXPECT_EQ(port.table.receiving() + port.table.sending(), 0u);
    EXPECT_EQ(port.table.bytes_receiving() + port.table.bytes_sending(), 0u);
  }
}

TEST(HostileSegmentsTest, WhatBelongsToNoTransferIsAnsweredOnlyIfItIsWrong) {
  SegmentPort port(1);
  const auto answers = [&port](const MadBytes& mad) {
    EXPECT_TRUE(port.table.on_packet({}, mad, {}));
    return std::exchange(port.heard.packets, {});
  };
  for (const MadBytes& mad : {ack_of(1, 1), data_segment(2, 0, 0), end_of(SegmentType::kStop, 1),
                              end_of(SegmentType::kAbort, 0)}) {
    EXPECT_TRUE(answers(mad).empty());
  }
  MadBytes version = ack_of(1, 1);
  version[24] = std::byte{9};
  MadBytes type = ack_of(1, 1);
  type[25] = std::byte{9};
  for (const auto& [mad, status] :
       {std::pair(version, segment_status::kBadVersion),
        {type, segment_status::kBadType},
        {data_segment(2, kSegmentFirst, 0), segment_status::kBadFirst}}) {
    const auto packets = answers(mad);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(segment_header_of(packets[0].second).type, SegmentType::kAbort);
    EXPECT_EQ(segment_header_of(packets[0].second).status, status);
    EXPECT_TRUE(answers(packets[0].second).empty());
  }
  EXPECT_EQ(port.table.receiving(), 0u);
}

}  // namespace
}  // namespace paravane::subnet
