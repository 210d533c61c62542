// A hostile host breaks the form: records, frames, the hello. What it breaks is its own
// channel, with a reason that names the cause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/tcp_hostile_fixture.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST_F(TcpHostile, GarbageIsNoRecord) {
  say(RawPeer::Bytes(4096, std::byte{0xA5}));
  EXPECT_EQ(loss(), "protocol: invalid record header");
}

TEST_F(TcpHostile, LengthsOutOfBoundsAreNoRecord) {
  const auto says = [&](std::uint32_t block, std::uint32_t direct) {
    meet(false);
    RawPeer::Bytes head = peer_->take();
    const Le32 lengths[]{Le32(block), Le32(direct)};
    std::memcpy(head.data(), lengths, sizeof lengths);
    say(head);
    return loss();
  };
  constexpr std::uint32_t kBlock = wire::kMaxBlockBytes;
  constexpr std::uint32_t kDirect = wire::kMaxDirectBytes;
  EXPECT_EQ(says(kBlock, 0), "") << "the rest may come";
  for (const auto& [block, direct] : {std::pair{kBlock + 1, 0u},
                                      {wire::kMinBlockBytes - 1, 0u},
                                      {0u, 0u},
                                      {0xFFFF'FFFFu, 0u},
                                      {kBlock, kDirect + 1},
                                      {kBlock, 0xFFFF'FFFFu}}) {
    EXPECT_EQ(says(block, direct), "protocol: invalid record header") << block << " " << direct;
  }
}

TEST_F(TcpHostile, HalfARecordHoldsUpNobodyAndTimesOut) {
  RawPeer::Bytes head = peer_->add(wire::Ping{}).take();
  head.resize(100);
  say(head);
  EXPECT_EQ(loss(), "");
  for (int i = 0; i < 40; ++i) {
    rig_.skip_time(milliseconds(100));
    rig_.turn_one(0);
  }
  EXPECT_THAT(loss(), HasSubstr("nothing was received from the host"));
}

TEST_F(TcpHostile, AWrongSealEndsTheChannel) {
  RawPeer::Bytes record = peer_->add(wire::Ping{}).take();
  record.back() ^= std::byte{1};
  say(record);
  EXPECT_EQ(loss(), "protocol: a record's seal does not match");
}

TEST_F(TcpHostile, AReplayedRecordEndsTheChannel) {
  const RawPeer::Bytes record = peer_->add(wire::Ping{}).take();
  say(record);
  EXPECT_EQ(loss(), "");
  say(record);
  EXPECT_EQ(loss(), "protocol: a record's seal does not match");
}

TEST_F(TcpHostile, RecordsInAnotherOrderEndTheChannel) {
  const RawPeer::Bytes first = peer_->add(wire::Ping{}).take();
  const RawPeer::Bytes second = peer_->add(wire::Ping{}).take();
  say(second);
  EXPECT_EQ(loss(), "protocol: a record's seal does not match");
}

TEST_F(TcpHostile, FramesThatDoNotFitTheirBlockEndTheChannel) {
  meet(false);
  peer_->add_hello();
  RawPeer::Bytes record = peer_->take();
  const std::size_t after = sizeof(wire::RecordHeader) + sizeof(wire::Hello);
  record[after] = std::byte{0xFF};   // length
  record[after + 2] = std::byte{2};  // kind
  say(record);
  EXPECT_EQ(loss(), "protocol: a block does not consist of frames");
}

TEST_F(TcpHostile, NothingComesBeforeTheHello) {
  for (const bool twice : {false, true}) {
    meet(true);
    if (twice) peer_->add_hello().add_hello();
    if (!twice) peer_->add(open_frame());
    say();
    EXPECT_EQ(loss(), "protocol: expected exactly one hello, before all else");
  }
}

TEST_F(TcpHostile, AHelloThatIsNone) {
  const auto says = [&](std::uint64_t magic, std::uint16_t low, std::uint16_t high,
                        std::uint64_t incarnation) {
    meet(true);
    peer_->add(wire::Hello{.magic = Le64(magic),
                           .lowest_version = Le16(low),
                           .highest_version = Le16(high),
                           .incarnation = Le64(incarnation)});
    say();
    return loss();
  };
  EXPECT_EQ(says(wire::kHelloMagic, 1, 9, 1), "");
  EXPECT_EQ(says(wire::kHelloMagic + 1, 1, 1, 1), "protocol: invalid hello");
  EXPECT_EQ(says(wire::kHelloMagic, 1, 1, 0), "protocol: invalid hello");
  EXPECT_THAT(says(wire::kHelloMagic, 2, 9, 1), HasSubstr("supports versions 2 to 9"));
  EXPECT_THAT(says(wire::kHelloMagic, 0, 0, 1), HasSubstr("supports versions 0 to 0"));
}

TEST_F(TcpHostile, UnknownKindsEndTheChannel) {
  for (const unsigned kind : {0x05u, 0x09u, 0x0Fu, 0x1Bu, 0x1Fu, 0xFFu}) {
    meet(false);
    peer_->add_hello();
    peer_->add(wire::Ping{});
    RawPeer::Bytes record = peer_->take();
    record[sizeof(wire::RecordHeader) + sizeof(wire::Hello) + 2] = static_cast<std::byte>(kind);
    say(record);
    EXPECT_EQ(loss(), "protocol: a frame of kind " + std::to_string(kind) + " is not valid here");
  }
}

// ---- Trunks ----

TEST_F(TcpHostile, WhoDoesNotKnowTrunksArrangesNone) {
  peer_->add(wire::TrunkOffer{});
  say();
  EXPECT_EQ(loss(), "protocol: a frame of kind 40 is not valid here");
  meet(true);
  say(peer_->add_hello().take());
  peer_->add(wire::TrunkReady{});
  say();
  EXPECT_EQ(loss(), "protocol: a frame of kind 41 is not valid here");
}

TEST_F(TcpHostile, OffersWithoutEndCostNoMoreThanOtherFrames) {
  meet(true);
  wire::Hello hello{.magic = Le64(wire::kHelloMagic),
                    .lowest_version = Le16(1),
                    .highest_version = Le16(1),
                    .capabilities = Le32(wire::kTrunks),
                    .incarnation = Le64(5)};
  say(peer_->add(hello).take());
  for (int i = 0; i < 100; ++i) {
    while (peer_->room() >= sizeof(wire::TrunkOffer)) peer_->add(wire::TrunkOffer{});
    say();
  }
  EXPECT_EQ(loss(), "");
}

// As long as the other kind is.
struct ShortOffer {
  static constexpr wire::FrameKind kKind = wire::FrameKind::kTrunkOffer;
  wire::FrameHeader header{};
  Le64 number{};
};

TEST_F(TcpHostile, AnOfferThatIsTooShortEndsTheChannel) {
  meet(true);
  wire::Hello hello{.magic = Le64(wire::kHelloMagic),
                    .lowest_version = Le16(1),
                    .highest_version = Le16(1),
                    .capabilities = Le32(wire::kTrunks),
                    .incarnation = Le64(5)};
  say(peer_->add(hello).take());
  say(peer_->add(ShortOffer{}).take());
  EXPECT_EQ(loss(), "protocol: a frame of kind 40 is not valid here");
}

}  // namespace
}  // namespace paravane::fake
