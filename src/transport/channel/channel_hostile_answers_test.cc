// A hostile host answers wrongly, or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/tcp_hostile_fixture.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using verbs::WcStatus;

class TcpHostileAsked : public TcpHostile {
 protected:
  // A READ of ours is under way; the serial is the first of this adapter.
  TcpHostileAsked() {
    qp_->post(read_request(1, {to_.whole()}, 0x1000, 5));
    turns();
    EXPECT_GT(peer_->drain(), 0u);
  }
  void say_only_pings(Duration duration) {
    for (Duration passed{}; passed < duration && is_open(); passed += milliseconds(100)) {
      peer_->add(wire::Ping{});
      say();
      rig_.skip_time(milliseconds(100));
      peer_->drain();
    }
  }
  wire::Data data_frame(std::uint64_t offset, std::uint64_t serial = 1) {
    return {.link = Le32(1), .serial = Le64(serial), .offset = Le64(offset)};
  }
  EngineBuffer to_ = rig_.a().buffer(10'000);
};

TEST_F(TcpHostileAsked, APeerThatNeverAnswersHoldsUpNobody) {
  say_only_pings(seconds(10));
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(qp_->sends.size(), 0u);
  qp_.reset();  // the guest can always go
  turns();
  EXPECT_EQ(loss(), "");
}

// As often as the program allowed: once more.
TEST_F(TcpHostileAsked, APeerThatNeverAnswersIsGivenUp) {
  say_only_pings(seconds(40));
  EXPECT_THAT(loss(), HasSubstr("the host is alive, but has not answered a request for 30000 ms"));
  EXPECT_EQ(qp_->sends.size(), 0u);
  meet(true);
  peer_->add_hello();
  say();
  say_only_pings(seconds(40));
  EXPECT_THAT(loss(), HasSubstr("has not answered"));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

// A Pong shows that it has read what was before the Ping: the time to answer begins then.
TEST_F(TcpHostileAsked, APeerThatReadsAndNeverAnswersIsGivenUp) {
  say_only_pings(seconds(20));
  peer_->add(wire::Pong{.number = Le64(1)});
  say();
  say_only_pings(seconds(25));
  EXPECT_EQ(loss(), "") << "it has had less than 30 s";
  for (std::uint64_t i = 0; i < 20 && loss().empty(); ++i) {
    peer_->add(wire::Pong{.number = Le64(1)});
    say_only_pings(seconds(1));
  }
  EXPECT_THAT(loss(), HasSubstr("the host is alive, but has not answered a request for 30000 ms"));
}

TEST_F(TcpHostileAsked, APongOfTheFutureEndsTheChannel) {
  peer_->add(wire::Pong{.number = Le64(1000)});
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 3"));
}

// A few bytes now and then are nothing: a slow wire takes more.
TEST_F(TcpHostileAsked, APeerThatSipsIsGivenUp) {
  const EngineBuffer from = rig_.a().buffer(8 << 20);
  const auto other = rig_.a().queue_pair();
  EngineRig::bring_up_to(*other, verbs::QpState::kReadyToSend, rig_.b().gid(), kTheirQpn,
                         attributes_);
  other->post(write_request(1, {from.whole()}, 0x1000, 5));
  for (int i = 0; i < 600 && loss().empty(); ++i) {
    peer_->add(wire::Ping{});
    say();
    rig_.skip_time(milliseconds(100));
    peer_->sip(200);
  }
  EXPECT_THAT(loss(), HasSubstr("has accepted no data for 30000 ms, or almost none"));
}

// What it had done, it has forgotten; to be sent the rest would have it done twice.
TEST_F(TcpHostile, ADaemonThatWasStartedAgainIsNotTheOneThatWasSpokenWith) {
  constexpr std::uint64_t kLife = 7;
  qp_->post(send_request(1, {}));
  turns();
  peer_->add(wire::Opened{.link = Le32(1), .responder_life = Le64(kLife)});
  peer_->add(wire::Ack{.link = Le32(1), .serial = Le64(1)});
  say();
  ASSERT_EQ(qp_->sends.statuses(), std::vector{WcStatus::kSuccess});
  meet(true);
  peer_->add_hello();
  say();
  qp_->post(send_request(2, {}));
  turns();
  EXPECT_EQ(qp_->sends.size(), 1u) << "the same one, it is sent";
  meet(true);
  peer_->add_hello(6);
  say();
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_->sends.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kRetryExceeded}));
  EXPECT_EQ(loss(), "");
}

// The same words over and over are no progress.
TEST_F(TcpHostileAsked, OldAnswersDoNotKeepAPeerThatNeverAnswers) {
  for (int i = 0; i < 400 && loss().empty(); ++i) {
    peer_->add(wire::Ack{.link = Le32(1), .serial = Le64(1)});
    say();
    rig_.skip_time(milliseconds(100));
    peer_->drain();
  }
  EXPECT_THAT(loss(), HasSubstr("has not answered"));
}

// A long READ is answered in pieces.
TEST_F(TcpHostileAsked, ASlowAnswerIsAnAnswer) {
  for (std::uint64_t offset = 0; offset < to_.length; offset += 1000) {
    say_only_pings(seconds(20));
    peer_->add(data_frame(offset), 1000);
    say();
  }
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(qp_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(TcpHostileAsked, DataThatWasNotAskedForEndsTheChannel) {
  peer_->add(data_frame(0));
  say(peer_->take(10'001));
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 24"));
}

TEST_F(TcpHostileAsked, DataOfALaterSerialEndsTheChannel) {
  peer_->add(data_frame(0, 2), 10);
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 24"));
}

// What is left of an answer to an earlier try looks like this.
TEST_F(TcpHostileAsked, DataOutOfItsOrderIsNotTaken) {
  const std::vector<std::byte> before = rig_.a().read(to_, 0, to_.length);
  peer_->add(data_frame(5000), 1000).add(data_frame(kHuge), 10);
  say();
  peer_->add(data_frame(5000));
  say(peer_->take(5000));
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(rig_.a().read(to_, 0, to_.length), before);
  EXPECT_EQ(qp_->sends.size(), 0u);
  peer_->add(data_frame(0));
  say(peer_->take(10'000));
  EXPECT_EQ(qp_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(TcpHostileAsked, AnAnswerOfTheWrongKindEndsTheChannel) {
  peer_->add(wire::Word{.link = Le32(1), .serial = Le64(1), .value = Le64(1)});
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 25"));
  EXPECT_EQ(qp_->sends.size(), 0u);
}

TEST_F(TcpHostileAsked, AnAckDoesNotEndARead) {
  peer_->add(wire::Ack{.link = Le32(1), .serial = Le64(1)});
  say();
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(qp_->sends.size(), 0u);
}

TEST_F(TcpHostileAsked, AnAckOfTheFutureEndsTheChannel) {
  peer_->add(wire::Ack{.link = Le32(1), .serial = Le64(kHuge)});
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 22"));
}

TEST_F(TcpHostileAsked, OddNaksEndTheChannel) {
  using Kind = verbs::Outcome::Kind;
  for (const auto& [outcome, status, timer] :
       {std::tuple{Kind::kDone, WcStatus::kSuccess, 0u},
        {Kind::kRefused, WcStatus::kSuccess, 0u},
        {Kind::kRefused, WcStatus::kFlushed, 0u},
        {Kind::kRefused, WcStatus::kFatal, 0u},
        {Kind::kLocalError, WcStatus::kRemoteAccessError, 0u},
        {Kind{99}, WcStatus::kRemoteAccessError, 0u}}) {
    meet(true);
    peer_->add_hello();
    say();
    rig_.advance(milliseconds(1));
    wire::Nak nak{};
    nak.link.set(1);
    nak.serial.set(1);
    nak.outcome.set(std::to_underlying(outcome));
    nak.status.set(std::to_underlying(status));
    nak.rnr_timer.set(static_cast<std::uint8_t>(timer));
    peer_->add(nak);
    say();
    EXPECT_THAT(loss(), HasSubstr("a frame of kind 23"));
  }
  EXPECT_EQ(qp_->sends.size(), 0u);
}

}  // namespace
}  // namespace paravane::fake
