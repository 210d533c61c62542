// A hostile host asks to be waited for in every way that it can.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/tcp_hostile_fixture.h"
#include "transport/channel/holds.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using transport_channel::Holds;
using verbs::WcStatus;

class TcpHostileHolds : public TcpHostile {
 protected:
  TcpHostileHolds() { greet(wire::kHolds); }
  void greet(std::uint32_t capabilities) {
    meet(false);
    peer_->add(wire::Hello{.magic = Le64(wire::kHelloMagic),
                           .lowest_version = Le16(1),
                           .highest_version = Le16(1),
                           .capabilities = Le32(capabilities),
                           .incarnation = Le64(5)});
    say();
    peer_->drain();
  }
  RawPeer& ask(std::uint32_t time, std::uint64_t number = 1) {
    return peer_->add(wire::Hold{.milliseconds = Le32(time), .number = Le64(number)});
  }
};

TEST_F(TcpHostileHolds, AHoldOfAHostThatKnowsNoneEndsTheChannel) {
  greet(0);
  ask(1000);
  say();
  EXPECT_EQ(loss(), "protocol: a frame of kind 4 is not valid here");
  EXPECT_FALSE(rig_.tcp(0).holds().is_held(kPeer));
}

TEST_F(TcpHostileHolds, AnAnswerOfAHostThatKnowsNoneEndsTheChannel) {
  greet(0);
  peer_->add(wire::Held{.milliseconds = Le32(1000), .number = Le64(0)});
  say();
  EXPECT_EQ(loss(), "protocol: a frame of kind 5 is not valid here");
}

TEST_F(TcpHostileHolds, AnAnswerToNoHoldEndsTheChannel) {
  peer_->add(wire::Held{.milliseconds = Le32(1000), .number = Le64(1)});
  say();
  EXPECT_EQ(loss(), "protocol: a frame of kind 5 is not valid here");
}

TEST_F(TcpHostileHolds, TheAnswerIsThatOfTheLastHold) {
  const auto answer = [this] { return rig_.tcp(0).peer_holds().at(0).answer; };
  using Answer = transport_channel::PeerHold::Answer;
  rig_.tcp(0).hold_peers(seconds(10));
  turns();
  rig_.tcp(0).hold_peers(seconds(20));
  turns();
  peer_->add(wire::Held{.milliseconds = Le32(10'000), .number = Le64(1)});
  say();
  EXPECT_EQ(answer(), Answer::kAwaited);
  peer_->add(wire::Held{.milliseconds = Le32(5'000), .number = Le64(2)});
  say();
  EXPECT_EQ(answer(), Answer::kWaits);
  EXPECT_EQ(loss(), "");
}

TEST_F(TcpHostileHolds, TheLongestTimeIsTheBound) {
  ask(0xFFFF'FFFF, 77);
  say();
  const auto held = peer_->receive_frames<wire::Held>();
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held.front().milliseconds.get(), 30'000u);
  EXPECT_EQ(held.front().number.get(), 77u);
}

TEST_F(TcpHostileHolds, AFloodOfThemIsAnsweredOnceAndGivesNoMore) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i) ask(0xFFFF'FFFF, i);
    say();
    rig_.skip_time(milliseconds(100));
  }
  EXPECT_LE(peer_->receive_frames<wire::Held>().size(), 40u);
  EXPECT_EQ(loss(), "");
  Duration held{};
  for (; held < seconds(100) && rig_.tcp(0).holds().is_held(kPeer); held += milliseconds(100)) {
    rig_.skip_time(milliseconds(100));
    turns(1);
  }
  EXPECT_LE(held, Holds::kMost);
}

// A request to it ends when the time is over and the queue pair's own.
TEST_F(TcpHostileHolds, ItCannotKeepARequestForEver) {
  ask(0xFFFF'FFFF);
  say();
  rig_.tcp(0).close(kPeer, "cut", rig_.now());
  qp_->post(send_request(1, {}));
  Duration waited{};
  while (qp_->sends.size() == 0 && waited < seconds(100)) {
    rig_.skip_time(milliseconds(2));
    waited += milliseconds(2);
    rig_.timers().run_due(rig_.now());
    turns(2);
  }
  EXPECT_GE(waited, Holds::kMost);
  EXPECT_LE(waited, Holds::kMost + milliseconds(60));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

}  // namespace
}  // namespace paravane::fake
