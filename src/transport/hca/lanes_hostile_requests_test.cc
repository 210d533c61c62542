// A host that sends other requests and payload than the rules of lanes allow, while memory is lent
// to it: the adapter lets go of the memory first, or the channel ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "testing/fake_trunk.h"
#include "testing/lanes_stream.h"
#include "testing/tcp_hostile_fixture.h"
#include "wire/lane_frames.h"

namespace paravane::fake {
namespace {

using testing::Each;
using testing::HasSubstr;
using verbs::WrOpcode;

constexpr std::uint64_t kByLane = 2 * wire::kLanePieceBytes;
constexpr std::uint64_t kInStream = 4096;

// The hostile host has connected all lanes, and wants to write a long message by one.
class LanesHostileRequests : public TcpHostile {
 protected:
  LanesHostileRequests() {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()),
              0);
    EXPECT_TRUE(rig_.tcp(0).open({.host = kPeer, .seals_payload = false},
                                 std::make_unique<LanesStream>(UniqueFd(sockets[0]), *trunks_[0]),
                                 rig_.now()));
    peer_ = std::make_unique<RawPeer>(UniqueFd(sockets[1]), std::nullopt, false);
    known_losses_ = rig_.losses(0).size();
    peer_->add(wire::Hello{.magic = Le64(wire::kHelloMagic),
                           .lowest_version = Le16(1),
                           .highest_version = Le16(1),
                           .capabilities = Le32(wire::kLaneFrames),
                           .incarnation = Le64(5)});
    for (std::uint8_t lane = 1; lane <= wire::kLanes; ++lane) {
      peer_->add(wire::LaneOpen{.lane = wire::Le8(lane), .psn = Le32(lane)});
    }
    say();
    for (std::uint8_t lane = 1; lane <= wire::kLanes; ++lane) {
      peer_->add(
          wire::LaneReady{.lane = wire::Le8(lane), .psn = Le32(trunks_[1]->join_lane(lane))});
    }
    peer_->add(open_frame());
    say();
    ask_by_lane(1);  // memory is registered when the first long message wants that
    say_more(0, kByLane);
    EXPECT_EQ(writes(), 1u);
    ask_by_lane(2);
    EXPECT_EQ(trunks_[0]->lane_receives(), 2u);
  }
  void ask_by_lane(std::uint64_t serial) {
    wire::Request frame = request_frame(WrOpcode::kRdmaWrite, serial, kByLane, &to_);
    frame.by_lane.set(1);
    peer_->add(frame);
    say();
  }
  void ask_in_stream(std::uint64_t serial) {
    peer_->add(request_frame(WrOpcode::kRdmaWrite, serial, kInStream, &to_));
    say(peer_->take(kInStream));
  }
  void say_more(std::uint64_t offset, std::size_t bytes) {
    peer_->add(more_frame(offset));
    say(peer_->take(bytes));
  }
  // A piece that comes after all.
  void send_piece(std::uint32_t number) {
    trunks_[1]->send_on_lane(trunks_[0]->busy_lane(), piece_, number);
    turns();
  }
  std::uint64_t writes() { return rig_.a().counters().writes_answered.value(); }
  void expect_recalled() {
    EXPECT_EQ(trunks_[0]->lane_receives(), 0u);
    EXPECT_TRUE(rig_.a().memory().loans().empty());
  }

  std::array<std::unique_ptr<FakeTrunk>, 2> trunks_ = FakeTrunk::make_pair();
  const EngineBuffer to_ = rig_.a().buffer(kByLane);
  std::vector<std::byte> piece_ = std::vector<std::byte>(wire::kLanePieceBytes, std::byte{0x11});
};

TEST_F(LanesHostileRequests, AMessageThatBeginsAnewIsNotOverwrittenByItsPieces) {
  ask_in_stream(2);
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(writes(), 2u);
  expect_recalled();
  send_piece(0);
  EXPECT_THAT(rig_.a().read(to_, 0, kInStream), Each(std::byte{RawPeer::kFill}));
}

TEST_F(LanesHostileRequests, AMessageThatBeginsAnewByLaneIsLentNothingTwice) {
  ask_by_lane(2);
  EXPECT_EQ(loss(), "");
  expect_recalled();
  say_more(0, kByLane);
  EXPECT_EQ(writes(), 2u);
}

TEST_F(LanesHostileRequests, WhatIsBehindAMessageThatBeginsAnewIsGivenUp) {
  ask_by_lane(3);
  ask_by_lane(4);
  EXPECT_GT(trunks_[0]->lane_receives(), 2u);
  ask_in_stream(3);
  EXPECT_EQ(loss(), "");
  expect_recalled();
  EXPECT_EQ(writes(), 2u);
}

TEST_F(LanesHostileRequests, PayloadInTheStreamOfAMessageByLaneEndsTheChannel) {
  say_more(0, kByLane);
  EXPECT_THAT(loss(), HasSubstr("a frame of kind"));
  expect_recalled();
  EXPECT_EQ(writes(), 1u);
}

TEST_F(LanesHostileRequests, PayloadBehindAMessageByLaneEndsTheChannel) {
  ask_in_stream(3);
  EXPECT_THAT(loss(), HasSubstr("a frame of kind"));
  expect_recalled();
}

TEST_F(LanesHostileRequests, TooManyBehindAMessageByLaneEndTheChannel) {
  for (std::uint64_t serial = 3; serial < 3 + wire::kMostAhead; ++serial) ask_by_lane(serial);
  EXPECT_EQ(loss(), "");
  ask_by_lane(3 + wire::kMostAhead);
  EXPECT_THAT(loss(), HasSubstr("a frame of kind"));
  expect_recalled();
}

}  // namespace
}  // namespace paravane::fake
