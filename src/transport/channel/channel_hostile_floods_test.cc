// A hostile host sends more than can be done, or a guest changes what is being sent: the
// others have their turns, and what is kept for it is bounded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "testing/tcp_hostile_fixture.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using verbs::WcStatus;
using verbs::WrOpcode;

TEST_F(TcpHostile, AFloodOfSmallRecordsStaysWithinTheBudget) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(peer_->add(wire::Ping{}).send());
  }
  const auto& counters = rig_.tcp(0).channel_to(kPeer)->counters();
  const std::uint64_t before = counters.records_received.value();
  rig_.turn_one(0, {.bytes = 4 << 20, .operations = 8});
  EXPECT_LE(counters.records_received.value() - before, 8u);
  rig_.turn_one(0, {.bytes = 1000, .operations = 1000});
  EXPECT_LE(counters.records_received.value() - before, 20u);
}

TEST_F(TcpHostile, ABlockOfManyRequestsCountsAsMany) {
  peer_->add(open_frame());
  for (int i = 0; i < 200; ++i) peer_->add(wire::Abort{.link = Le32(kLink)});
  ASSERT_TRUE(peer_->send());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(peer_->add(wire::Ping{}).send());
  const auto& counters = rig_.tcp(0).channel_to(kPeer)->counters();
  const std::uint64_t before = counters.records_received.value();
  rig_.turn_one(0, {.bytes = 4 << 20, .operations = 100});
  EXPECT_LE(counters.records_received.value() - before, 2u) << "with what was read ahead";
}

TEST_F(TcpHostile, AFloodOfOpensThatNobodyHearsOfEndsTheChannel) {
  // It reads nothing, so that nothing of it can be answered.
  std::uint32_t link = 1;
  wire::Open frame = open_frame();
  frame.responder_qpn.set(4000);
  for (int records = 0; records < 5000 && loss().empty(); ++records) {
    for (int i = 0; i < 150; ++i) {
      frame.link.set(link++);
      peer_->add(frame);
    }
    ASSERT_TRUE(peer_->send());
    turns(2);
  }
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 10"));
}

TEST_F(TcpHostileLinked, ReadsThatNobodyFetchesAreBounded) {
  const EngineBuffer buffer = rig_.a().buffer(64 << 10);
  for (std::uint64_t serial = 1; serial < 1000 && loss().empty(); ++serial) {
    peer_->add(request_frame(WrOpcode::kRdmaRead, serial, 65536, &buffer));
    ASSERT_TRUE(peer_->send());
    turns(2);
  }
  EXPECT_THAT(loss(), HasSubstr("a frame of kind 11"));
}

TEST_F(TcpHostileLinked, AFloodOfDatagramsIsDropped) {
  wire::Datagram frame{};
  frame.gid_type.set(2);
  frame.dest_qpn.set(qp_->qp->number());
  frame.source_gid = rig_.b().gid().raw;
  frame.dest_gid = rig_.a().gid().raw;
  for (int records = 0; records < 200; ++records) {
    for (int i = 0; i < 3; ++i) peer_->add(frame, wire::kMaxDatagramPayload);
    ASSERT_TRUE(peer_->send());
    turns(2);
  }
  takes_a_message(1);
}

// It sends as fast as it can and reads nothing; the other host only wants to be heard.
TEST_F(TcpHostile, AFloodOfOneHostLeavesAnotherItsTurns) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()),
            0);
  ASSERT_TRUE(rig_.tcp(0).open({.host = verbs::HostId{3}},
                               std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets[0])),
                               rig_.now()));
  RawPeer other(UniqueFd(sockets[1]), std::nullopt);
  ASSERT_TRUE(other.add_hello().send());
  turns();
  // Not sealed, so that the same bytes are good for ever.
  meet(false);
  ASSERT_TRUE(peer_->add_hello().send());
  turns();
  const RawPeer::Bytes ping = peer_->add(wire::Ping{}).take();
  std::span<const std::byte> rest = ping;
  for (int round = 0; round < 50; ++round) {
    other.drain();
    ASSERT_TRUE(other.add(wire::Ping{}).send());
    for (int i = 0; i < 8; ++i) {
      while (peer_->send_some(rest)) rest = ping;
      rig_.turn_one(0, {.bytes = 4 << 20, .operations = 8});
    }
    ASSERT_GT(other.drain(), 0u) << round;
  }
}

// At either end: what is sealed is what was read, and what is checked is what came.
class TcpHostileGuest : public testing::TestWithParam<bool> {};

TEST_P(TcpHostileGuest, AGuestThatChangesWhatIsSentHarmsNobody) {
  TcpRig rig(GetParam());
  verbs::QpAttributes attributes = default_attributes();
  attributes.timeout = 8;  // 1 ms
  const auto scribbler = rig.a().queue_pair();
  const auto scribblers_peer = rig.b().queue_pair();
  const auto good = rig.a().queue_pair();
  const auto goods_peer = rig.b().queue_pair();
  TcpRig::connect(rig.a(), *scribbler, rig.b(), *scribblers_peer, attributes);
  TcpRig::connect(rig.a(), *good, rig.b(), *goods_peer, attributes);
  const EngineBuffer changing = rig.a().buffer(1 << 20);
  const EngineBuffer to = rig.b().buffer(1 << 20);
  const EngineBuffer inbox = rig.b().buffer(64);
  {
    const std::jthread guest([&](const std::stop_token& end) {
      for (std::uint8_t seed = 0; !end.stop_requested(); ++seed) rig.a().fill(changing, seed);
    });
    const std::jthread other_guest([&](const std::stop_token& end) {
      for (std::uint8_t seed = 0; !end.stop_requested(); ++seed) rig.b().fill(to, seed);
    });
    for (std::uint64_t i = 0; i < 40; ++i) {
      scribbler->post(write_request(2 * i, {changing.whole()}, to.start, to.key));
      scribblers_peer->post(read_request(2 * i + 1, {to.whole()}, changing.start, changing.key));
      goods_peer->post(receive_request(i, {inbox.whole()}));
      good->post(send_request(i, {}));
      rig.advance(milliseconds(3));
    }
  }
  rig.advance(seconds(1));
  EXPECT_EQ(good->sends.statuses(), std::vector(40, WcStatus::kSuccess));
  EXPECT_EQ(scribbler->sends.statuses(), std::vector(40, WcStatus::kSuccess));
  EXPECT_EQ(scribblers_peer->sends.statuses(), std::vector(40, WcStatus::kSuccess));
  EXPECT_THAT(rig.losses(0), IsEmpty());
  EXPECT_THAT(rig.losses(1), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(SealedOrNot, TcpHostileGuest, testing::Bool());

}  // namespace
}  // namespace paravane::fake
