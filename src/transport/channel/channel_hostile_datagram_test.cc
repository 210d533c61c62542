// A hostile host sends datagrams whose payload comes in pieces, or never: it holds one
// receive at most, which somebody else gets as soon as it is clear that nothing comes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "testing/tcp_hostile_fixture.h"

namespace paravane::fake {
namespace {

using testing::HasSubstr;
using verbs::QpState;
using verbs::WcStatus;

constexpr std::uint64_t kGrh = 40;
constexpr std::size_t kTooLong = 4096;

class TcpHostileDatagram : public TcpHostile {
 protected:
  TcpHostileDatagram() {
    start(*to_);
    from_here_ = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
    start(*from_here_);
  }
  static void start(EngineQp& qp) {
    ASSERT_TRUE(bring_up(*qp.qp, QpState::kReadyToSend, default_attributes()));
  }
  wire::Datagram frame() {
    wire::Datagram datagram{};
    datagram.source_qpn.set(kTheirQpn);
    datagram.dest_qpn.set(to_->qp->number());
    datagram.qkey.set(default_attributes().qkey);
    datagram.gid_type.set(2);
    datagram.source_gid = rig_.b().gid().raw;
    datagram.dest_gid = rig_.a().gid().raw;
    datagram.segment.set(0);
    return datagram;
  }
  void post_receive(std::uint64_t id) {
    to_->post(receive_request(id, {inbox_.sge(id * (kGrh + kTooLong), kGrh + kTooLong)}));
  }
  // All of its record but the last `missing` bytes.
  void say_most(std::size_t missing, std::uint32_t verdict = wire::kGood) {
    peer_->add(frame());
    record_ = peer_->take(kTooLong, verdict);
    const std::span<const std::byte> all = record_;
    ASSERT_TRUE(peer_->send(all.first(all.size() - missing)));
    rest_ = all.last(missing);
    turns();
  }
  void say_rest() {
    ASSERT_TRUE(peer_->send(rest_));
    turns();
  }
  // From this host's own adapter, whole at once.
  void send_here(std::uint64_t id) {
    verbs::SendRequest request = send_request(id, {payload_.whole()});
    request.remote_qpn = to_->qp->number();
    request.remote_qkey = default_attributes().qkey;
    request.av.dgid = rig_.a().gid();
    from_here_->post(request);
    turns();
  }
  std::vector<std::uint64_t> received() {
    std::vector<std::uint64_t> ids;
    for (const verbs::Completion& completion : to_->receives.all()) {
      if (completion.status == WcStatus::kSuccess) ids.push_back(completion.wr_id);
    }
    return ids;
  }

  EngineBuffer inbox_ = rig_.a().buffer(4 * (kGrh + kTooLong));
  EngineBuffer payload_ = rig_.a().buffer(64);
  std::unique_ptr<EngineQp> to_ = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  std::unique_ptr<EngineQp> from_here_;
  RawPeer::Bytes record_;
  std::span<const std::byte> rest_;
};

TEST_F(TcpHostileDatagram, OneThatComesSlowlyHoldsUpNobody) {
  post_receive(0);
  post_receive(1);
  say_most(2000);
  send_here(1);
  EXPECT_EQ(received(), (std::vector<std::uint64_t>{1}));
  say_rest();
  EXPECT_EQ(received(), (std::vector<std::uint64_t>{1, 0}));
  EXPECT_EQ(to_->receives.at(1).byte_len, kGrh + kTooLong);
  EXPECT_EQ(rig_.a().read(inbox_, kGrh, kTooLong),
            std::vector(kTooLong, std::byte{RawPeer::kFill}));
}

TEST_F(TcpHostileDatagram, WhatComesToNothingGivesItsReceiveBack) {
  post_receive(0);
  say_most(0, wire::kVoid);
  say_most(2000);
  EXPECT_EQ(loss(), "");
  meet(true);  // in place of the channel that was half way
  EXPECT_THAT(received(), testing::IsEmpty());
  EXPECT_EQ(rig_.a().counters().datagrams_dropped.value(), 2u);
  send_here(1);
  EXPECT_EQ(received(), (std::vector<std::uint64_t>{0}));
}

TEST_F(TcpHostileDatagram, AnErrorStateFlushesWhatIsHeld) {
  post_receive(0);
  post_receive(1);
  say_most(2000);
  ASSERT_TRUE(move(*to_->qp, QpState::kError, default_attributes()));
  turns();
  EXPECT_EQ(to_->receives.statuses(), (std::vector{WcStatus::kFlushed, WcStatus::kFlushed}));
  say_rest();
  EXPECT_EQ(to_->receives.size(), 2u);
  EXPECT_EQ(loss(), "");
}

TEST_F(TcpHostileDatagram, AResetForgetsWhatIsHeld) {
  post_receive(0);
  say_most(2000);
  ASSERT_TRUE(move(*to_->qp, QpState::kReset, default_attributes()));
  start(*to_);
  post_receive(1);
  const std::vector<std::byte> before = rig_.a().read(inbox_, 0, inbox_.length);
  say_rest();
  EXPECT_EQ(rig_.a().read(inbox_, 0, inbox_.length), before);
  EXPECT_EQ(to_->receives.size(), 0u);
  send_here(1);
  EXPECT_EQ(received(), (std::vector<std::uint64_t>{1}));
}

TEST_F(TcpHostileDatagram, AQueuePairMayGoWhileOneArrives) {
  post_receive(0);
  say_most(2000);
  to_.reset();
  say_rest();
  EXPECT_EQ(loss(), "");
  EXPECT_TRUE(is_open());
}

TEST_F(TcpHostileDatagram, WhoMayNotReachItAnyMoreDoesNot) {
  post_receive(0);
  say_most(10);
  rig_.forget_peer(0);
  say_rest();
  EXPECT_THAT(received(), testing::IsEmpty());
  send_here(1);
  EXPECT_EQ(received(), (std::vector<std::uint64_t>{0}));
}

TEST_F(TcpHostileDatagram, AnAdapterThatComesWithTheSameNumberGetsNothingOfIt) {
  post_receive(0);
  say_most(2000);
  rig_.tcp(0).detach(rig_.a().adapter());
  rig_.tcp(0).attach(rig_.a().adapter());
  const std::vector<std::byte> before = rig_.a().read(inbox_, 0, inbox_.length);
  say_rest();
  EXPECT_EQ(rig_.a().read(inbox_, 0, inbox_.length), before);
  EXPECT_THAT(received(), testing::IsEmpty());
}

TEST_F(TcpHostileDatagram, AKeyThatIsTakenAwayEndsTheWriting) {
  post_receive(0);
  say_most(2000);
  const std::vector<std::byte> before = rig_.a().read(inbox_, 0, inbox_.length);
  ASSERT_TRUE(rig_.a().adapter().regions().remove(inbox_.key));
  say_rest();
  EXPECT_EQ(rig_.a().read(inbox_, 0, inbox_.length), before);
  EXPECT_THAT(received(), testing::IsEmpty());
  EXPECT_EQ(loss(), "");
}

// It is there, and reads nothing: who sends to it does not wait for ever, whatever the size.
TEST_F(TcpHostileDatagram, AHostThatOnlyPingsHoldsUpNobodysDatagramsForLong) {
  const EngineBuffer payload = rig_.a().buffer(kTooLong);
  constexpr std::uint64_t kMany = 300;
  for (const std::uint64_t bytes : {std::uint64_t{kTooLong}, std::uint64_t{kTooLong} - 1}) {
    from_here_->sends.clear();
    to_->receives.clear();
    for (std::uint64_t i = 0; i < kMany; ++i) {
      verbs::SendRequest request = send_request(i, {payload.sge(0, bytes)});
      request.remote_qpn = kTheirQpn;
      request.remote_qkey = default_attributes().qkey;
      request.av.dgid = rig_.b().gid();
      from_here_->post(request);
    }
    post_receive(0);
    send_here(kMany);
    ASSERT_LT(from_here_->sends.size(), kMany) << "the channel is full";
    for (int i = 0; i < 200 && loss().empty(); ++i) {
      ASSERT_TRUE(peer_->add(wire::Ping{}).send());
      rig_.skip_time(std::chrono::milliseconds(400));
      rig_.timers().run_due(rig_.now());
      turns(4);
    }
    EXPECT_THAT(loss(), HasSubstr("has accepted no data for 30000 ms"));
    rig_.skip_time(std::chrono::seconds(2));
    rig_.timers().run_due(rig_.now());
    turns(100);
    EXPECT_EQ(from_here_->sends.size(), kMany + 1);
    EXPECT_EQ(received(), (std::vector<std::uint64_t>{0})) << "the one to its own host";
    meet(true);
    peer_->add_hello();
    say();
  }
}

TEST_F(TcpHostileDatagram, LengthsThatADatagramCannotHaveEndTheChannel) {
  const auto ends = [&](std::size_t inside, std::size_t direct) {
    meet(true);
    peer_->add_hello().add(frame(), inside);
    say(peer_->take(direct));
    return testing::Value(loss(), HasSubstr("a frame of kind 30"));
  };
  EXPECT_TRUE(ends(0, kTooLong + 1));
  EXPECT_TRUE(ends(kTooLong + 1, 0));
  EXPECT_TRUE(ends(1, 100)) << "both";
}

}  // namespace
}  // namespace paravane::fake
