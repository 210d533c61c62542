// Two adapters in two networks with a router between them, which is played: what their engines say
// of the way between them, whatever the router, a stranger and the guests do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "testing/roce_rig.h"
#include "wire/roce/header_at.h"
#include "wire/roce/probe.h"

namespace paravane::fake {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;
using transport_roce::ProbeReport;
using transport_roce::ProbeState;
using transport_roce::RouterProbes;
using verbs::AdapterId;
using verbs::Gid;
using verbs::SegmentId;
using verbs::WcStatus;
using wire::roce::MacBytes;
using wire::roce::Network;
using wire::roce::Opcode;
using wire::roce::Packet;

constexpr auto kV2 = verbs::GidType::kRoceV2;
constexpr std::uint8_t kIndex = 2;  // of the GIDs that routers forward
constexpr SegmentId kNear{5};
constexpr SegmentId kFar{6};

Gid ipv4_of(unsigned side, std::uint8_t last = 1) {
  return Gid{
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, static_cast<std::uint8_t>(side), last}};
}
// Of the router, on that side.
MacBytes gateway(unsigned side) {
  return {2, 0, 0, 0, 0xAA, static_cast<std::uint8_t>(side)};
}

class RoceProbing : public testing::Test {
 protected:
  RoceProbing() {
    for (unsigned side = 0; side < 2; ++side) {
      const AdapterId id{side};
      rig_.directory().set_segment(id, side == 0 ? kNear : kFar);
      rig_.directory().set_native(id, &rig_.roce());
      EXPECT_TRUE(rig_.vm(side).adapter().bind_gid(kIndex, ipv4_of(side), kV2));
    }
    allow(true);
    rig_.wire().set_weather(
        [this](unsigned side, FrameBytes frame) { return forward(side, std::move(frame)); });
  }
  void allow(bool routed) {
    rig_.directory().set_networks({{kNear, {.port_group = "a", .native = true, .routed = true}},
                                   {kFar, {.port_group = "b", .native = true, .routed = routed}}});
  }
  // What a router does with a frame to it.
  std::vector<FrameBytes> forward(unsigned side, FrameBytes frame) {
    auto ethernet = wire::roce::header_at<wire::roce::EthernetHeader>(frame);
    const auto parsed = wire::roce::parse_frame(frame);
    EXPECT_TRUE(parsed);
    sent_.push_back({.side = side, .packet = parsed->packet, .frame = frame});
    const std::uint8_t hops = parsed->packet.route.hop_limit;
    if (ethernet.destination != gateway(side) || drops_ || hops <= 1) return {};
    ethernet.destination = RoceRig::mac(1 - side);
    ethernet.source = gateway(1 - side);
    std::memcpy(frame.data(), &ethernet, sizeof ethernet);
    frame[kNetworkAt + offsetof(wire::roce::Ipv4Header, time_to_live)] = std::byte(hops - 1u);
    mend_checksum(frame);
    return {std::move(frame)};
  }
  void connect(EngineQp& at_a, EngineQp& at_b) {
    for (unsigned side = 0; side < 2; ++side) {
      attributes_.av.dmac = gateway(side);
      EngineQp& own = side == 0 ? at_a : at_b;
      const EngineQp& other = side == 0 ? at_b : at_a;
      EngineRig::bring_up_to(own, verbs::QpState::kReadyToSend, ipv4_of(1 - side),
                             other.qp->number(), attributes_, kIndex);
    }
  }
  // A message from a to b, which is used for nothing else.
  void talk() {
    qp_b_->post(receive_request(1, {inbox_.sge(0, 64)}));
    qp_a_->post(send_request(1, {out_.sge(0, 64)}));
  }
  void connect_and_talk() {
    connect(*qp_a_, *qp_b_);
    talk();
    ASSERT_TRUE(rig_.run());
  }
  // Of a's, while nothing is under way.
  template <typename Change>
  void change_address(Change change) {
    ASSERT_TRUE(move(*qp_a_->qp, verbs::QpState::kSendQueueDrain, {}));
    ASSERT_TRUE(rig_.run());
    verbs::QpAttributes changed = qp_a_->qp->query();
    change(changed.av);
    ASSERT_TRUE(qp_a_->qp->modify(changed, verbs::kAttrState | verbs::kAttrAddress, rig_.now()));
    ASSERT_TRUE(move(*qp_a_->qp, verbs::QpState::kReadyToSend, {}));
  }
  ProbeReport report(unsigned side = 0) {
    return rig_.roce().probe_of(side == 0 ? *qp_a_->qp : *qp_b_->qp);
  }
  ProbeState state(unsigned side = 0) { return report(side).state; }

  struct Sent {
    unsigned side;
    Packet packet;
    FrameBytes frame;
  };
  std::vector<Sent> sent_by(unsigned side, Opcode opcode) const {
    std::vector<Sent> found;
    std::ranges::copy_if(sent_, std::back_inserter(found), [&](const Sent& one) {
      return one.side == side && one.packet.opcode == opcode;
    });
    return found;
  }
  // A probe, or an answer, that the test sends to `side`.
  FrameBytes made_up(unsigned side, Opcode opcode, const wire::roce::ProbeNonce& nonce = {},
                     const Gid& source = {}) const {
    const Packet packet = wire::roce::probe_packet(
        opcode, {.network = Network::kV2Ipv4,
                 .source_mac = gateway(side),
                 .destination_mac = RoceRig::mac(side),
                 .source = source == Gid{} ? ipv4_of(1 - side).raw : source.raw,
                 .destination = ipv4_of(side).raw,
                 .hop_limit = 63,
                 .udp_source_port = 50'000});
    return frame_of(packet, wire::roce::probe_payload(nonce));
  }

  RoceRig rig_;
  bool drops_ = false;
  std::vector<Sent> sent_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer out_ = rig_.a().buffer(4096);
  const EngineBuffer inbox_ = rig_.b().buffer(4096);
};

TEST_F(RoceProbing, AnswersComeBackThroughTheRouterInBothDirections) {
  EXPECT_EQ(state(), ProbeState::kNone) << "not connected";
  connect_and_talk();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  rig_.advance(500ms);
  for (unsigned side = 0; side < 2; ++side) {
    EXPECT_EQ(state(side), ProbeState::kAnswered);
    EXPECT_EQ(report(side).way.gateway, gateway(side));
    ASSERT_THAT(sent_by(side, Opcode::kProbe), SizeIs(1));
    const Packet probe = sent_by(side, Opcode::kProbe)[0].packet;
    EXPECT_EQ(probe.route.destination_mac, gateway(side));
    EXPECT_EQ(probe.route.hop_limit, 64) << "that of the queue pair's address";
    EXPECT_EQ(probe.route.traffic_class, RoceRig::kTrafficClass) << "as connections have it";
    EXPECT_EQ(probe.destination_qp, 0u);
    const Packet answer = sent_by(side, Opcode::kProbeAnswer).at(0).packet;
    EXPECT_EQ(answer.route.destination_mac, gateway(side)) << "to where the probe came from";
    EXPECT_EQ(answer.route.traffic_class, RoceRig::kTrafficClass);
    EXPECT_EQ(rig_.counters(side).probes_answered.value(), 1u);
    EXPECT_EQ(rig_.counters(side).peer_probes_answered.value(), 1u);
  }
  rig_.advance(10s);
  EXPECT_EQ(rig_.counters(0).probes_sent.value(), 11u);
  EXPECT_EQ(rig_.counters(0).probes_answered.value(), 11u);
  EXPECT_EQ(rig_.counters(0).bad_probe_answers.value(), 0u);
}

TEST_F(RoceProbing, ARouterThatDropsIsKnownAfterThreeProbesAndSoIsItsEnd) {
  attributes_.timeout = 0;  // for ever
  connect_and_talk();
  rig_.advance(1500ms);
  drops_ = true;
  talk();
  rig_.advance(2s);
  EXPECT_EQ(state(), ProbeState::kAnswered);
  const std::uint64_t before = rig_.roce().probe_changes(AdapterId{0});
  rig_.advance(2s);
  EXPECT_EQ(state(0), ProbeState::kUnanswered);
  EXPECT_EQ(state(1), ProbeState::kUnanswered);
  EXPECT_FALSE(report().hears_peer);
  EXPECT_NE(rig_.roce().probe_changes(AdapterId{0}), before);
  EXPECT_THAT(qp_a_->sends.all(), SizeIs(1)) << "the packets leave all the same, and wait";
  drops_ = false;
  rig_.advance(30s);
  EXPECT_EQ(state(0), ProbeState::kAnswered);
  EXPECT_EQ(state(1), ProbeState::kAnswered);
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(2, WcStatus::kSuccess));
}

// Its program hears of it in half a second, the operator after three.
TEST_F(RoceProbing, AConnectionThatEndedAtARouterIsProbedToAVerdict) {
  attributes_.timeout = 14;  // 67 ms
  attributes_.retry_count = 1;
  drops_ = true;
  connect_and_talk();
  rig_.advance(1s);
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  qp_a_ = rig_.a().queue_pair();
  rig_.advance(3s);
  ASSERT_THAT(rig_.roce().probes_of(AdapterId{0}), SizeIs(1));
  EXPECT_EQ(rig_.roce().probes_of(AdapterId{0})[0].state, ProbeState::kUnanswered);
  rig_.advance(RouterProbes::kLinger);
  EXPECT_THAT(rig_.roce().probes_of(AdapterId{0}), IsEmpty());
  const std::uint64_t sent = rig_.counters(0).probes_sent.value();
  rig_.advance(60s);
  EXPECT_EQ(rig_.counters(0).probes_sent.value(), sent);
  EXPECT_EQ(rig_.timers().next_deadline(), kNever) << "nothing waits when nothing is probed";
}

TEST_F(RoceProbing, WhatIsNoAdapterOfTheClusterIsNotProbed) {
  EngineRig::bring_up_to(*qp_a_, verbs::QpState::kReadyToSend, ipv4_of(1, 77), 5, attributes_,
                         kIndex);
  qp_a_->post(send_request(1, {out_.sge(0, 64)}));
  rig_.advance(3s);
  EXPECT_EQ(rig_.counters(0).probes_sent.value(), 0u);
}

TEST_F(RoceProbing, WhatTheOperatorDoesNotRouteIsNeitherProbedNorAnswered) {
  connect_and_talk();
  rig_.advance(1s);
  ASSERT_EQ(state(), ProbeState::kAnswered);
  allow(false);
  rig_.advance(1s);
  const std::uint64_t sent = rig_.counters(0).probes_sent.value();
  const std::uint64_t answered = rig_.counters(0).peer_probes_answered.value();
  rig_.advance(10s);
  EXPECT_EQ(rig_.counters(0).probes_sent.value(), sent);
  rig_.wire().inject(0, made_up(0, Opcode::kProbe));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.counters(0).peer_probes_answered.value(), answered);
  EXPECT_EQ(rig_.counters(0).peer_probes_refused.value(), 1u);
  allow(true);
  talk();
  rig_.advance(1s);
  EXPECT_EQ(state(), ProbeState::kAnswered) << "the connection uses it again";
}

TEST_F(RoceProbing, AnAnswerThatIsGuessedOrReplayedIsNotBelieved) {
  connect_and_talk();
  rig_.advance(1500ms);
  ASSERT_EQ(state(), ProbeState::kAnswered);
  const std::vector<Sent> answers = sent_by(1, Opcode::kProbeAnswer);
  ASSERT_THAT(answers, SizeIs(2));
  drops_ = true;
  rig_.advance(5s);
  ASSERT_EQ(state(), ProbeState::kUnanswered);
  const std::vector<Sent> probes = sent_by(0, Opcode::kProbe);
  for (const Sent& old : answers) {
    const auto nonce = wire::roce::read_probe(wire::roce::parse_frame(old.frame)->payload);
    rig_.wire().inject(0, made_up(0, Opcode::kProbeAnswer, *nonce));
  }
  for (std::uint8_t guess = 0; guess < 100; ++guess) {
    rig_.wire().inject(0, made_up(0, Opcode::kProbeAnswer, {std::byte{guess}}));
  }
  const auto last = wire::roce::read_probe(wire::roce::parse_frame(probes.back().frame)->payload);
  rig_.wire().inject(0, made_up(0, Opcode::kProbeAnswer, *last, ipv4_of(1, 9)));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(state(), ProbeState::kUnanswered);
  EXPECT_EQ(rig_.counters(0).bad_probe_answers.value(), 103u);
  rig_.wire().inject(0, made_up(0, Opcode::kProbeAnswer, *last));  // from one that sees the way
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(state(), ProbeState::kAnswered);
}

TEST_F(RoceProbing, NothingAnswersAStrangerOrAnAnswer) {
  const auto answered = [this] { return rig_.counters(0).peer_probes_answered.value(); };
  rig_.wire().inject(0, made_up(0, Opcode::kProbe));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(answered(), 1u) << "without a connection";
  rig_.wire().inject(0, made_up(0, Opcode::kProbe, {}, ipv4_of(1, 9)));
  rig_.wire().inject(0, made_up(0, Opcode::kProbe, {}, ipv4_of(0)));
  rig_.wire().inject(0, made_up(0, Opcode::kProbeAnswer));
  Packet odd = wire::roce::parse_frame(made_up(0, Opcode::kProbe))->packet;
  const auto payload = wire::roce::probe_payload({});
  Packet other = odd;
  other.destination_qp = qp_a_->qp->number();
  rig_.wire().inject(0, frame_of(other, payload));
  other = odd;
  other.pkey = 0x1234;
  rig_.wire().inject(0, frame_of(other, payload));
  other = odd;
  other.route.destination_mac[5] ^= 1;
  rig_.wire().inject(0, frame_of(other, payload));
  other = odd;
  other.route.destination = ipv4_of(0, 9).raw;
  rig_.wire().inject(0, frame_of(other, payload));
  other = odd;
  other.route.network = Network::kV1;
  rig_.wire().inject(0, frame_of(other, payload));
  rig_.wire().inject(0, frame_of(odd, payload_of(24, 3)));  // of another manufacturer
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(answered(), 1u);
  EXPECT_EQ(rig_.counters(0).peer_probes_refused.value(), 4u);
  EXPECT_EQ(rig_.counters(0).bad_probe_answers.value(), 1u);
  EXPECT_EQ(rig_.counters(0).unknown_qp.value(), 2u);
  EXPECT_EQ(rig_.counters(0).partition_mismatches.value(), 1u);
  EXPECT_EQ(rig_.counters(0).foreign_mac.value(), 1u);
  EXPECT_THAT(sent_, SizeIs(1));
}

// In the name of an adapter, which anyone on the way can forge.
TEST_F(RoceProbing, AFloodOfProbesIsAnsweredWithinABound) {
  const FrameBytes probe = made_up(0, Opcode::kProbe);
  for (int i = 0; i < 1000; ++i) {
    for (int j = 0; j < 100; ++j) rig_.wire().inject(0, probe);
    rig_.skip(1ms);
    rig_.turn();
  }
  EXPECT_LE(rig_.counters(0).peer_probes_answered.value(), 256u + 64u);
  EXPECT_GE(rig_.counters(0).peer_probes_answered.value(), 256u);
  EXPECT_LE(rig_.counters(0).packets_received.value(), 26'000u) << "the flood guard sees them";
}

TEST_F(RoceProbing, AGuestHasABoundedNumberOfWaysProbed) {
  std::vector<std::unique_ptr<EngineQp>> all;
  for (std::uint8_t i = 0; i < 40; ++i) {
    attributes_.av.dmac = {2, 0, 0, 0, 0xBB, i};
    all.push_back(rig_.a().queue_pair());
    EngineRig::bring_up_to(*all.back(), verbs::QpState::kReadyToSend, ipv4_of(1), 5, attributes_,
                           kIndex);
    all.back()->post(send_request(1, {out_.sge(0, 64)}));
  }
  rig_.advance(10s);
  EXPECT_THAT(rig_.roce().probes_of(AdapterId{0}), SizeIs(RouterProbes::kMost));
  EXPECT_LE(rig_.counters(0).probes_sent.value(), 11 * RouterProbes::kMost);
  EXPECT_EQ(rig_.roce().probe_of(*all.back()->qp).state, ProbeState::kRefused);
  EXPECT_EQ(rig_.roce().probe_of(*all.front()->qp).state, ProbeState::kUnanswered);
}

TEST_F(RoceProbing, AnAddressThatChangesIsAnotherWay) {
  connect_and_talk();
  rig_.advance(1s);
  const MacBytes other{2, 0, 0, 0, 0xCC, 1};
  change_address([&](verbs::AddressVector& av) { av.dmac = other; });
  EXPECT_EQ(state(), ProbeState::kNone);
  talk();
  rig_.advance(1s);
  EXPECT_EQ(state(), ProbeState::kAwaited);
  EXPECT_EQ(report().way.gateway, other);
}

// As that of ibv_ud_pingpong.
TEST_F(RoceProbing, AHopLimitThatIsTooSmallIsSeenByTheProbe) {
  connect_and_talk();
  change_address([](verbs::AddressVector& av) { av.hop_limit = 1; });
  talk();
  rig_.advance(4s);
  EXPECT_EQ(state(), ProbeState::kUnanswered);
  EXPECT_EQ(report().way.hop_limit, 1);
}

TEST_F(RoceProbing, APortThatIsClosedProbesNothingAndBeginsAnewWhenItIsOpen) {
  connect_and_talk();
  rig_.advance(1s);
  rig_.roce().detach(rig_.a().adapter());
  EXPECT_THAT(rig_.roce().probes_of(AdapterId{0}), IsEmpty());
  EXPECT_EQ(state(), ProbeState::kNone);
  const std::size_t sent = sent_by(0, Opcode::kProbe).size();
  rig_.advance(5s);
  EXPECT_THAT(sent_by(0, Opcode::kProbe), SizeIs(sent));
  rig_.roce().attach(rig_.a().adapter(), RoceRig::mac(0), rig_.wire().door(0));
  EXPECT_EQ(state(), ProbeState::kNone);
  talk();
  rig_.advance(1s);
  EXPECT_EQ(state(), ProbeState::kAnswered);
}

}  // namespace
}  // namespace paravane::fake
