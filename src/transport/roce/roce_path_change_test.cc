// Connections whose path changes between the network and another transport, and whose address
// changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/wire_int.h"
#include "testing/roce_rig.h"
#include "wire/roce/probe.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using verbs::QpState;
using verbs::WcStatus;
using wire::roce::Packet;

std::uint64_t number_in(const std::vector<std::byte>& bytes) {
  Le64 word;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word.get();
}

class RocePathChange : public testing::Test {
 protected:
  RocePathChange() {
    attributes_.path_mtu = 1;  // 256
    attributes_.max_reads = 4;
    attributes_.max_dest_reads = 4;
  }
  void connect() { rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }
  void lead_by_memory(bool by_memory) {
    rig_.directory().set_detour(
        [this, by_memory](const fabric::Directory::Leg&) -> verbs::Transport* {
          if (by_memory) return nullptr;
          return &rig_.roce();
        });
    rig_.directory().detours_changed();
  }
  void lose_everything() {
    rig_.wire().set_weather([](unsigned, const FrameBytes&) { return std::vector<FrameBytes>(); });
  }

  RoceRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer from_ = rig_.a().buffer(4096);
  const EngineBuffer word_ = rig_.b().buffer(8);
  const EngineBuffer inbox_ = rig_.b().buffer(4096);
  const EngineBuffer old_ = rig_.a().buffer(4096);
};

// Keeps the requests off the fast path, where no transport numbers them.
struct NoFilter final : verbs::OutcomeFilter {
  verbs::Outcome filter(verbs::QueuePair&, const verbs::Outcome& outcome) override {
    return outcome;
  }
};

// Each request changes the word once, whichever way it goes.
TEST_F(RocePathChange, PacketsGoOnWithTheirNumbersAfterThePathLedElsewhere) {
  NoFilter none;
  lead_by_memory(true);
  connect();
  qp_a_->qp->set_outcome_filter(&none);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const bool by_memory = (i + 9) / 10 % 2 == 0;
    if (i % 10 == 1) lead_by_memory(by_memory);
    qp_a_->post(add_request(i, old_.sge(8 * i, 8), word_.start, word_.key, 1));
    qp_b_->post(receive_request(i, {inbox_.sge(0, 1000)}));
    qp_a_->post(send_request(1000 + i, {from_.sge(0, 1000)}));
    ASSERT_TRUE(rig_.run());
    EXPECT_EQ(qp_a_->qp->path_name(), by_memory ? "local" : "roce");
  }
  ASSERT_EQ(qp_a_->sends.size(), 80u);
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(number_in(rig_.a().read(old_, 8 * i, 8)), i);
  }
  EXPECT_EQ(rig_.counters(0).retransmitted.value(), 0u);
  EXPECT_EQ(rig_.counters(1).out_of_order.value(), 0u);
  qp_a_->qp->set_outcome_filter(nullptr);
}

// Even if the program has set no timeout.
TEST_F(RocePathChange, RequestsUnderWayGoOnByTheNewPath) {
  attributes_.timeout = 0;
  connect();
  lose_everything();
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  qp_a_->post(add_request(2, old_.sge(0, 8), word_.start, word_.key, 1));
  rig_.advance(seconds(3));
  ASSERT_EQ(qp_a_->sends.size(), 0u);

  lead_by_memory(true);
  rig_.advance(seconds(3));
  EXPECT_EQ(qp_a_->sends.wr_ids(), std::vector<std::uint64_t>({1, 2}));
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(rig_.b().read(inbox_, 0, 4096), rig_.a().read(from_, 0, 4096));
  EXPECT_EQ(number_in(rig_.b().read(word_, 0, 8)), 1u);
}

// The peer would take the next request's packets for those that it had already.
TEST_F(RocePathChange, NothingFollowsRequestsThatWereGivenUpUnderWay) {
  connect();
  rig_.wire().set_weather([](unsigned side, FrameBytes frame) {
    return side == 0 ? std::vector<FrameBytes>{std::move(frame)} : std::vector<FrameBytes>();
  });
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  lead_by_memory(true);
  rig_.advance(seconds(3));
  ASSERT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  rig_.wire().set_weather({});
  lead_by_memory(false);
  qp_a_->post(write_request(2, {from_.whole()}, inbox_.start, inbox_.key));
  rig_.advance(seconds(3));
  ASSERT_EQ(qp_a_->sends.size(), 2u);
  EXPECT_EQ(qp_a_->sends.at(1).status, WcStatus::kRetryExceeded);
}

// Nothing else has carried it, so it goes on with its numbers.
TEST_F(RocePathChange, ARequestUnderWayGoesOnWhenThePathIsBack) {
  connect();
  rig_.wire().set_weather([](unsigned side, FrameBytes frame) {
    return side == 0 ? std::vector<FrameBytes>{std::move(frame)} : std::vector<FrameBytes>();
  });
  qp_a_->post(add_request(1, old_.sge(0, 8), word_.start, word_.key, 1));
  qp_a_->post(add_request(2, old_.sge(8, 8), word_.start, word_.key, 1));
  ASSERT_TRUE(rig_.run());
  rig_.directory().set_link(verbs::AdapterId{1}, false);
  rig_.advance(milliseconds(100));
  rig_.wire().set_weather({});
  rig_.directory().set_link(verbs::AdapterId{1}, true);
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(2, WcStatus::kSuccess));
  EXPECT_EQ(number_in(rig_.b().read(word_, 0, 8)), 2u);
  EXPECT_EQ(number_in(rig_.a().read(old_, 8, 8)), 1u);
}

// It went back by its own timeout, not because of the path, and was done elsewhere.
TEST_F(RocePathChange, NothingFollowsARequestThatWentBackByItsTimeout) {
  attributes_.timeout = 10;  // 4.2 ms
  connect();
  rig_.wire().set_weather([](unsigned side, FrameBytes frame) {
    return side == 0 ? std::vector<FrameBytes>{std::move(frame)} : std::vector<FrameBytes>();
  });
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  qp_a_->post(write_request(2, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  rig_.skip(microseconds(4300));
  lead_by_memory(true);
  rig_.advance(milliseconds(20));
  ASSERT_EQ(qp_a_->sends.statuses(), std::vector(2, WcStatus::kSuccess));
  rig_.wire().set_weather({});
  lead_by_memory(false);
  qp_a_->post(write_request(3, {from_.whole()}, inbox_.start, inbox_.key));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.at(2).status, WcStatus::kRetryExceeded);
}

// A notice of congestion waits for room, and the path leads elsewhere before there is some.
TEST_F(RocePathChange, NoNoticeOfCongestionIsLeftAfterThePathLedElsewhere) {
  connect();
  FrameBytes marked;
  rig_.wire().set_weather([&marked](unsigned side, const FrameBytes& frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    Packet packet = parsed->packet;
    packet.route.traffic_class |= 3;
    if (side == 0) marked = frame_of(packet, parsed->payload);
    return std::vector<FrameBytes>();
  });
  qp_a_->post(write_request(1, {from_.sge(0, 256)}, inbox_.start, inbox_.key));
  rig_.turn();
  rig_.wire().set_room(0);
  qp_b_->post(write_request(2, {inbox_.sge(0, 256)}, from_.start, from_.key));
  rig_.turn();  // whose packet fills the outlet
  rig_.wire().inject(1, marked);
  rig_.turn();
  lead_by_memory(true);
  rig_.wire().set_room(100);
  ASSERT_TRUE(rig_.run());  // a turn ends
  rig_.advance(seconds(2));
  EXPECT_EQ(rig_.counters(1).notices_sent.value(), 0u);
}

// The port group's native RoCE is switched off: nothing is composed any more.
TEST_F(RocePathChange, RequestsOfAClosedPortGoOnByTheNewPath) {
  attributes_.timeout = 0;
  connect();
  lose_everything();
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  rig_.roce().detach(rig_.a().adapter());
  lead_by_memory(true);
  rig_.advance(seconds(3));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(RocePathChange, RequestsWithoutAPathUseUpTheirRetries) {
  attributes_.timeout = 10;  // 4.2 ms
  attributes_.retry_count = 3;
  connect();
  lose_everything();
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  rig_.directory().set_link(verbs::AdapterId{1}, false);
  rig_.advance(seconds(3));
  ASSERT_EQ(qp_a_->sends.size(), 1u);
  EXPECT_EQ(qp_a_->sends.at(0).status, WcStatus::kRetryExceeded);
}

// The adapter that owns the GID now asked for nothing.
TEST_F(RocePathChange, NoAnswerLeavesAfterThePathLedElsewhere) {
  connect();
  rig_.wire().set_room(0);  // nothing leaves
  const EngineBuffer long_one = rig_.b().buffer(1 << 20);
  const EngineBuffer to = rig_.a().buffer(1 << 20);
  qp_a_->post(read_request(1, {to.whole()}, long_one.start, long_one.key));
  rig_.turn();
  rig_.wire().set_room(16);
  for (int i = 0; i < 3; ++i) rig_.turn();
  const std::uint64_t sent = rig_.wire().sent(1);
  ASSERT_GT(sent, 0u);
  lead_by_memory(true);
  rig_.advance(milliseconds(1));
  EXPECT_LE(rig_.wire().sent(1), sent + 1);  // the frame that was put together already
  rig_.advance(seconds(30));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(RocePathChange, AnAddressThatChangesInSqdIsFollowed) {
  connect();
  qp_a_->post(write_request(1, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  std::vector<std::uint8_t> hops;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    if (side == 0 && parsed) hops.push_back(parsed->packet.route.hop_limit);
    return std::vector<FrameBytes>{std::move(frame)};
  });
  verbs::QpAttributes changed = qp_a_->qp->query();
  changed.state = QpState::kSendQueueDrain;
  ASSERT_TRUE(qp_a_->qp->modify(changed, verbs::kAttrState, rig_.now()));
  changed.av.hop_limit = 9;
  ASSERT_TRUE(qp_a_->qp->modify(changed, verbs::kAttrState | verbs::kAttrAddress, rig_.now()));
  changed.state = QpState::kReadyToSend;
  ASSERT_TRUE(qp_a_->qp->modify(changed, verbs::kAttrState, rig_.now()));

  qp_a_->post(write_request(2, {from_.whole()}, inbox_.start, inbox_.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.size(), 2u);
  EXPECT_THAT(hops, Each(9));
  EXPECT_EQ(hops.size(), 16u);
}

TEST_F(RocePathChange, PacketsOfAnotherPartitionAreDropped) {
  connect();
  std::uint16_t pkey = 0x8001;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    if (side != 0 || !parsed) return std::vector<FrameBytes>{std::move(frame)};
    Packet packet = parsed->packet;
    packet.pkey = pkey;
    return std::vector<FrameBytes>{frame_of(packet, parsed->payload)};
  });
  qp_a_->post(write_request(1, {from_.sge(0, 100)}, inbox_.start, inbox_.key));
  rig_.advance(milliseconds(20));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  EXPECT_GT(rig_.counters(1).partition_mismatches.value(), 0u);
  pkey = 0x7FFF;  // a limited member of ours
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

// Two VMs in two networks: their packets go over the wire, and are for routers where both networks
// are routed.
TEST_F(RocePathChange, PacketsGetThroughARouterOnlyWhereBothNetworksAreRouted) {
  constexpr verbs::SegmentId kHere{1}, kThere{2};
  constexpr verbs::Gid kGidA{{0xFD, 1}}, kGidB{{0xFD, 2}};
  constexpr std::uint8_t kIndex = 2;
  ASSERT_TRUE(rig_.a().adapter().bind_gid(kIndex, kGidA, verbs::GidType::kRoceV2));
  ASSERT_TRUE(rig_.b().adapter().bind_gid(kIndex, kGidB, verbs::GidType::kRoceV2));
  rig_.directory().set_segment(verbs::AdapterId{0}, kHere);
  rig_.directory().set_segment(verbs::AdapterId{1}, kThere);
  for (unsigned side = 0; side < 2; ++side) {
    rig_.directory().set_native(verbs::AdapterId{side}, &rig_.roce());
  }
  std::vector<unsigned> limits;
  rig_.wire().set_weather([&](unsigned, FrameBytes frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    if (parsed && wire::roce::is_probe(parsed->packet.opcode)) return std::vector<FrameBytes>();
    limits.push_back(parsed ? parsed->packet.route.hop_limit : 0);
    return std::vector<FrameBytes>{std::move(frame)};
  });
  const auto bring_up_to = [this](EngineQp& qp, const verbs::Gid& dgid, const EngineQp& peer) {
    EngineRig::bring_up_to(qp, QpState::kReadyToSend, dgid, peer.qp->number(), attributes_, kIndex);
  };
  bring_up_to(*qp_a_, kGidB, *qp_b_);
  bring_up_to(*qp_b_, kGidA, *qp_a_);
  const auto from = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  const auto to = rig_.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  ASSERT_TRUE(bring_up(*from->qp, QpState::kReadyToSend, default_attributes()));
  ASSERT_TRUE(bring_up(*to->qp, QpState::kReadyToSend, default_attributes()));
  verbs::SendRequest datagram = send_request(3, {from_.sge(0, 100)});
  datagram.remote_qpn = to->qp->number();
  datagram.remote_qkey = default_attributes().qkey;
  datagram.av.dgid = kGidB;
  datagram.av.sgid_index = kIndex;
  const auto exchange =
      [&](bool routed) {
        rig_.directory().set_networks(
            {{kHere, {.port_group = "a", .native = true, .routed = true}},
             {kThere, {.port_group = "b", .native = true, .routed = routed}}});
        limits.clear();
        qp_b_->post(receive_request(1, {inbox_.sge(0, 1000)}));
        qp_a_->post(send_request(2, {from_.sge(0, 1000)}));
        from->post(datagram);
        ASSERT_TRUE(rig_.run());
        EXPECT_EQ(limits.size(), 6u)
            << "four packets of the message, its acknowledgement, the datagram";
      };
  exchange(false);
  EXPECT_THAT(limits, Each(1u));
  exchange(true);
  EXPECT_THAT(limits, Each(64u));
  exchange(false);
  EXPECT_THAT(limits, Each(1u)) << "connections that are there follow";
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
}

}  // namespace
}  // namespace paravane::fake
