// A hostile host breaks the rules of links and messages: it loses its channel, or is not
// heard; nothing beyond what it was given is touched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "testing/tcp_hostile_fixture.h"

namespace paravane::fake {
namespace {

using testing::HasSubstr;
using verbs::WrOpcode;

TEST_F(TcpHostile, WhoMayNotOpenALinkHearsThatNobodyListens) {
  const auto refused = [&](const std::function<void(wire::Open&)>& change) {
    wire::Open frame = open_frame();
    change(frame);
    peer_->drain();
    peer_->add(frame);
    // Of a link that was opened this would be heard of.
    qp_->post(receive_request(1, {}));
    peer_->add(request_frame(WrOpcode::kSend, 1, 0));
    say();
    return qp_->receives.size() == 0 && peer_->drain() > 0 && loss().empty();
  };
  EXPECT_TRUE(refused([](auto& open) { open.requester_gid[15] ^= 1; }));
  EXPECT_TRUE(refused([](auto& open) { open.responder_gid[15] ^= 1; }));
  EXPECT_TRUE(refused([](auto& open) { std::swap(open.requester_gid, open.responder_gid); }));
  EXPECT_TRUE(refused([](auto& open) { open.requester_qpn.set(kTheirQpn + 1); }));
  EXPECT_TRUE(refused([](auto& open) { open.responder_qpn.set(0xFFFF'FFFF); }));
  EXPECT_TRUE(refused([](auto& open) { open.responder_qpn.set(1); }));
  EXPECT_TRUE(refused([](auto& open) { open.segment.set(7); }));
  EXPECT_TRUE(refused([](auto& open) { open.gid_type.set(1); }));
  EXPECT_TRUE(refused([](auto& open) { open.gid_type.set(0xFF); }));
  EXPECT_TRUE(refused([](auto& open) { open.responder_life.set(0x1234'5678'9ABC); }));
  EXPECT_TRUE(refused([&](auto&) { rig_.forget_peer(0); })) << "it speaks for its GIDs alone";
}

// Over another path, more may have been executed than this requester has asked for here.
TEST_F(TcpHostileLinked, ALinkAcknowledgesNothingThatItHasNotBrought) {
  verbs::DoneMemory& done = qp_->qp->responder().done();
  done.note(9);
  peer_->drain();
  peer_->add(request_frame(WrOpcode::kSend, 5, 0));
  say();
  const auto acks = peer_->receive_frames<wire::Ack>();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].serial.get(), 5u);
  EXPECT_EQ(qp_->receives.size(), 0u);  // it was executed before
}

TEST_F(TcpHostileLinked, LinkNumbersAreUsedOnceAndNotZero) {
  peer_->add(open_frame());
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 10"));
  meet(true);
  peer_->add_hello().add(open_frame(0));
  say();
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 10"));
}

TEST_F(TcpHostileLinked, FramesOfUnknownLinksAreDropped) {
  constexpr std::uint32_t kOther = 1234;
  wire::Request request = request_frame(WrOpcode::kSend, 1, 4);
  request.link.set(kOther);
  peer_->add(request, 4);
  peer_->add(more_frame(7, kOther), 3);
  peer_->add(wire::Abort{.link = Le32(kOther)});
  peer_->add(wire::Close{.link = Le32(kOther)});
  say();
  peer_->add(more_frame(0, kOther));
  say(peer_->take(5000));
  takes_a_message(1);
}

TEST_F(TcpHostile, AnswersToWhatWasNeverAskedEndTheChannel) {
  const auto ends = [&](const auto& frame) {
    meet(true);
    peer_->add_hello().add(frame);
    say();
    return testing::Value(loss(), HasSubstr("is not valid here"));
  };
  const Le32 link(1);
  EXPECT_TRUE(ends(wire::Opened{.link = link, .responder_life = Le64(1)}));
  EXPECT_TRUE(ends(wire::Closed{.link = link}));
  EXPECT_TRUE(ends(wire::Ack{.link = link, .serial = Le64(1)}));
  wire::Nak nak{};
  nak.link = link;
  EXPECT_TRUE(ends(nak));
  EXPECT_TRUE(ends(wire::Data{.link = link, .serial = Le64(1), .offset = Le64(0)}));
  EXPECT_TRUE(ends(wire::Word{.link = link, .serial = Le64(1), .value = Le64(0)}));
  EXPECT_TRUE(ends(wire::Ready{.link = link}));
}

TEST_F(TcpHostileLinked, PayloadThatDoesNotFitItsLengthEndsTheChannel) {
  const EngineBuffer buffer = rig_.a().buffer(64 << 10);
  const auto ends = [&](const std::function<RawPeer::Bytes()>& make) {
    meet(true);
    peer_->add_hello().add(open_frame());
    say(make());
    return testing::Value(loss(), HasSubstr("is not valid here"));
  };
  const auto write = [&](std::uint64_t length) {
    return request_frame(WrOpcode::kRdmaWrite, 1, length, &buffer);
  };
  EXPECT_TRUE(ends([&] { return peer_->add(write(4), 5).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(0), 5).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(5), 0).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(8192), 5).take(8192); })) << "both";
  EXPECT_TRUE(ends([&] { return peer_->add(write(8192)).take(8193); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(8), 4).add(more_frame(5), 4).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(8), 4).add(more_frame(0), 4).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(8), 4).add(more_frame(4), 5).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(write(8), 8).add(more_frame(8), 0).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(more_frame(0), 4).take(); }));
  EXPECT_TRUE(ends([&] {
    return peer_->add(write(8), 4)
        .add(wire::Abort{.link = Le32(kLink)})
        .add(more_frame(4), 4)
        .take();
  }));
  EXPECT_TRUE(ends(
      [&] { return peer_->add(request_frame(WrOpcode::kRdmaRead, 1, 8, &buffer), 8).take(); }));
  EXPECT_TRUE(ends([&] { return peer_->add(request_frame(WrOpcode::kSend, 0, 0)).take(); }));
  wire::Request odd = write(0);
  odd.opcode.set(0xFE);
  EXPECT_TRUE(ends([&] { return peer_->add(odd).take(); }));
}

TEST_F(TcpHostileLinked, ALengthBeyondAllMemoryIsRefused) {
  const EngineBuffer buffer = rig_.a().buffer(64 << 10);
  const std::vector<std::byte> before = rig_.a().read(buffer, 0, buffer.length);
  peer_->add(request_frame(WrOpcode::kRdmaWrite, 1, kHuge, &buffer), 64);
  peer_->add(more_frame(64), 64);
  say();
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(qp_->state(), verbs::QpState::kError) << "IBTA 9.9.3: an invalid request";
  EXPECT_EQ(rig_.a().read(buffer, 0, buffer.length), before);
}

TEST_F(TcpHostileLinked, NothingIsWrittenBeyondTheRegion) {
  const EngineBuffer buffer = rig_.a().buffer(8192);
  const EngineBuffer next = rig_.a().buffer(8192);
  const std::vector<std::byte> before = rig_.a().read(next, 0, next.length);
  wire::Request request = request_frame(WrOpcode::kRdmaWrite, 1, 8192, &buffer);
  request.remote_addr.set(buffer.start + 1);
  peer_->add(request);
  say(peer_->take(8192));
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(qp_->state(), verbs::QpState::kError);
  EXPECT_EQ(rig_.a().read(buffer, 0, 8192), before) << "it was judged first";
  EXPECT_EQ(rig_.a().read(next, 0, 8192), before);
}

TEST_F(TcpHostile, DirectPayloadThatNoFrameAskedForEndsTheChannel) {
  peer_->add(wire::Ping{});
  say(peer_->take(4096));
  EXPECT_EQ(loss(), "protocol: direct payload without a message");
  meet(true);
  peer_->add_hello();
  say();
  say(peer_->take(4096));
  EXPECT_EQ(loss(), "protocol: direct payload without a message");
}

TEST_F(TcpHostileLinked, AnOddVerdictEndsTheChannel) {
  const EngineBuffer buffer = rig_.a().buffer(8192);
  peer_->add(request_frame(WrOpcode::kRdmaWrite, 1, 8192, &buffer));
  say(peer_->take(8192, 3));
  EXPECT_EQ(loss(), "protocol: invalid record trailer");
}

// Also where the message ends later, and where nobody wants it.
TEST_F(TcpHostileLinked, PayloadThatIsChangedOnTheWayEndsTheChannelAndIsNotPlaced) {
  constexpr std::uint64_t kAll = 16384;
  const EngineBuffer buffer = rig_.a().buffer(kAll);
  const std::vector<std::byte> before = rig_.a().read(buffer, 0, kAll);
  for (const std::uint64_t part : {std::uint64_t{8192}, kAll}) {
    for (const std::uint32_t link : {kLink, kLink + 1}) {
      meet(true);
      peer_->add_hello().add(open_frame());
      say();
      wire::Request request = request_frame(WrOpcode::kRdmaWrite, 1, kAll, &buffer);
      request.link.set(link);
      peer_->add(request);
      say(peer_->take(part, wire::kGood, std::byte{1}));
      EXPECT_EQ(loss(), "protocol: the seal of a record's payload does not match");
      EXPECT_EQ(rig_.a().read(buffer, 0, kAll), before);
    }
  }
}

TEST_F(TcpHostile, AWrongDigestCostsTheMessageAlone) {
  const EngineBuffer buffer = rig_.a().buffer(8192);
  meet(true, false);
  peer_->add_hello().add(open_frame());
  say();
  peer_->drain();
  peer_->add(request_frame(WrOpcode::kRdmaWrite, 1, 8192, &buffer));
  say(peer_->take(8192, wire::kGood, std::byte{1}));
  EXPECT_EQ(loss(), "");
  EXPECT_EQ(rig_.tcp(0).channel_to(kPeer)->counters().damaged.value(), 1u);
  EXPECT_GT(peer_->drain(), 0u) << "it is asked for again";
  EXPECT_NE(rig_.a().read(buffer, 8191, 1).front(), std::byte{RawPeer::kFill});
  peer_->add(request_frame(WrOpcode::kRdmaWrite, 1, 8192, &buffer));
  say(peer_->take(8192));
  EXPECT_EQ(rig_.a().read(buffer, 8191, 1).front(), std::byte{RawPeer::kFill});
}

// A record on its way out names the link whose answer it carries.
TEST_F(TcpHostileLinked, ALinkClosedWhileItsAnswerIsSentMayGo) {
  const EngineBuffer buffer = rig_.a().buffer(1 << 20);
  peer_->add(request_frame(WrOpcode::kRdmaRead, 1, 1 << 20, &buffer));
  say();  // more than the socket takes
  peer_->add(wire::Close{.link = Le32(kLink)});
  say();
  qp_.reset();
  turns();
  for (int i = 0; i < 100; ++i) {
    peer_->drain();
    turns(2);
  }
  EXPECT_EQ(loss(), "");
}

TEST_F(TcpHostileLinked, AnAnswerOfALinkThatWasClosedIsNotOneOfTheNext) {
  const EngineBuffer buffer = rig_.a().buffer(1 << 20);
  peer_->add(request_frame(WrOpcode::kRdmaRead, 1, 1 << 20, &buffer));
  say();
  peer_->add(wire::Close{.link = Le32(kLink)});
  peer_->add(open_frame(kLink + 1));
  wire::Request again = request_frame(WrOpcode::kRdmaRead, 1, 8192, &buffer);
  again.link.set(kLink + 1);
  peer_->add(again);
  say();
  std::size_t got = 0;
  for (int i = 0; i < 100; ++i) {
    got += peer_->drain();
    turns(2);
  }
  EXPECT_EQ(loss(), "");
  EXPECT_LT(got, wire::kMaxDirectBytes + 16384) << "the rest of the first, and the second";
  EXPECT_EQ(qp_->state(), verbs::QpState::kReadyToSend);
}

}  // namespace
}  // namespace paravane::fake
