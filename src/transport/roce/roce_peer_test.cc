// Peers of other making, played packet by packet: what rdma_rxe does, what adapters do, and what we
// do with both (docs/roce.md has the table). Their habits are from Linux's rxe_resp.c, rxe_comp.c
// and rxe_req.c, and from IBTA volume 1, 9.7.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/wire_int.h"
#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::WcStatus;
using wire::roce::NakCode;
using wire::roce::Opcode;
using wire::roce::Packet;

constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kFirstPsn = 100;  // in both directions
constexpr std::uint32_t kTheirQpn = 77;

class RocePeer : public testing::Test {
 protected:
  RocePeer() {
    attributes_.path_mtu = 1;
    attributes_.send_psn = kFirstPsn;
    attributes_.receive_psn = kFirstPsn;
    attributes_.timeout = 18;  // 1.07 s: longer than any wait of a test
    attributes_.retry_count = 2;
    attributes_.max_dest_reads = 1;
    attributes_.av.dmac = RoceRig::mac(1);
    // What we send reaches the peer that the test plays, and no other.
    rig_.wire().set_weather([this](unsigned, const FrameBytes& frame) {
      sent_.push_back(wire::roce::parse_frame(frame)->packet);
      return std::vector<FrameBytes>();
    });
  }
  void connect() {
    EngineRig::bring_up_to(*qp_, verbs::QpState::kReadyToSend, rig_.b().gid(), kTheirQpn,
                           attributes_);
  }

  void hear(Opcode opcode, std::uint32_t psn, std::uint8_t syndrome, std::size_t bytes = 0) {
    Packet packet = of_peer(opcode, psn);
    packet.syndrome = syndrome;
    hear(packet, bytes);
  }
  void hear(const Packet& packet, std::size_t bytes = 0) {
    rig_.wire().inject(0, frame_of(packet, payload_of(bytes, packet.psn)));
    ASSERT_TRUE(rig_.run());
  }
  Packet of_peer(Opcode opcode, std::uint32_t psn) const {
    Packet packet;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = RoceRig::mac(1),
                    .destination_mac = RoceRig::mac(0),
                    .source = peer_gid_.raw,
                    .destination = own_gid_.raw,
                    .hop_limit = 64,
                    .udp_source_port = 50'000};
    packet.opcode = opcode;
    packet.destination_qp = qp_->qp->number();
    packet.psn = psn;
    packet.wants_ack = true;
    packet.migrated = is_adapter_;
    return packet;
  }
  Packet acknowledgement(std::uint32_t psn) const {
    Packet packet = of_peer(Opcode::kAcknowledge, psn);
    packet.syndrome = wire::roce::kAcknowledged;
    return packet;
  }
  Packet read_of_peer(std::uint32_t psn, std::uint64_t offset, std::uint32_t length) const {
    Packet packet = of_peer(Opcode::kReadRequest, psn);
    packet.address = buffer_.start + offset;
    packet.rkey = buffer_.key;
    packet.length = length;
    return packet;
  }
  Packet write_of_peer(std::uint32_t psn) const {
    Packet packet = of_peer(Opcode::kWriteOnly, psn);
    packet.address = buffer_.start;
    packet.rkey = buffer_.key;
    return packet;
  }
  Packet add_of_peer(std::uint32_t psn) const {
    Packet packet = of_peer(Opcode::kFetchAdd, psn);
    packet.address = word_.start;
    packet.rkey = word_.key;
    packet.swap_or_add = 1;
    return packet;
  }

  // What was sent since the last call.
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    for (const Packet& packet : sent_) psns.push_back(packet.psn);
    sent_.clear();
    return psns;
  }
  std::vector<Opcode> sent_opcodes() {
    std::vector<Opcode> opcodes;
    for (const Packet& packet : sent_) opcodes.push_back(packet.opcode);
    sent_.clear();
    return opcodes;
  }
  std::uint64_t word() {
    const std::vector<std::byte> bytes = rig_.a().read(word_, 0, 8);
    Le64 value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value.get();
  }
  // A send of three packets.
  void post_send(std::uint64_t id) {
    qp_->post(send_request(id, {buffer_.sge(0, 3 * kMtu)}));
    ASSERT_TRUE(rig_.run());
  }
  // A READ of four packets.
  void post_read(std::uint64_t id) {
    qp_->post(read_request(id, {buffer_.sge(0, 4 * kMtu)}, 0x1000, 5));
    ASSERT_TRUE(rig_.run());
  }
  void post_long_read(std::uint64_t id) {
    qp_->post(read_request(id, {buffer_.whole()}, 0x1000, 5));
    ASSERT_TRUE(rig_.run());
  }
  // Of a READ, from one packet up to another.
  void hear_data(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t psn = from; psn < to; ++psn) {
      hear(Opcode::kReadResponseMiddle, psn, wire::roce::kAcknowledged, kMtu);
    }
  }
  std::vector<std::byte> fetched(std::uint32_t packet) {
    return rig_.a().read(buffer_, packet * kMtu, kMtu);
  }

  RoceRig rig_;
  bool is_adapter_ = false;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_ = rig_.a().queue_pair();
  const verbs::Gid own_gid_ = rig_.a().gid();
  const verbs::Gid peer_gid_ = rig_.b().gid();
  const EngineBuffer buffer_ = rig_.a().buffer(16 * kMtu);
  const EngineBuffer word_ = rig_.a().buffer(8);
  std::vector<Packet> sent_;
};

TEST_F(RocePeer, EachRefusalHasItsStatus) {
  struct Case {
    NakCode code;
    WcStatus status;
  };
  for (const Case& each :
       {Case{NakCode::kInvalidRequest, WcStatus::kRemoteInvalidRequest},
        Case{NakCode::kRemoteAccessError, WcStatus::kRemoteAccessError},
        Case{NakCode::kRemoteOperationalError, WcStatus::kRemoteOperationError}}) {
    qp_ = rig_.a().queue_pair();
    connect();
    post_send(1);
    post_send(2);
    hear(Opcode::kAcknowledge, kFirstPsn + 3, wire::roce::refused(each.code));
    ASSERT_EQ(qp_->sends.size(), 2u);
    EXPECT_EQ(qp_->sends.at(0).status, WcStatus::kSuccess);  // all before it has arrived
    EXPECT_EQ(qp_->sends.at(1).status, each.status);
    EXPECT_EQ(qp_->state(), verbs::QpState::kError);
  }
}

TEST_F(RocePeer, ASequenceErrorIsAnsweredFromThereOn) {
  connect();
  post_send(1);
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn + 1, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), ElementsAre(101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn + 2, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
}

// The peer tells of a gap once. What it says may be about packets that were sent again after a
// silence, so it is no repetition of something heard before.
TEST_F(RocePeer, ASequenceErrorRightAfterASilenceIsAnswered) {
  connect();
  post_send(1);
  sent_.clear();
  rig_.advance(milliseconds(20));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), IsEmpty());  // rxe complains of each packet that follows the gap
}

// What is late and not lost would be sent again in vain.
TEST_F(RocePeer, AfterASilenceFewPacketsAreSentAgain) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  EXPECT_EQ(sent_psns().size(), 30u);
  rig_.advance(milliseconds(20));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102, 103));
  hear(acknowledgement(kFirstPsn + 29));
  EXPECT_THAT(sent_psns(), IsEmpty());
  EXPECT_EQ(qp_->sends.size(), 10u);
}

// RFC 5682: an answer to what was not sent again shows that all was only late.
TEST_F(RocePeer, AfterAnAnswerThatIsLateNothingMoreIsSentAgain) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(20));
  sent_.clear();
  hear(acknowledgement(kFirstPsn + 8));
  post_send(11);
  EXPECT_THAT(sent_psns(), IsEmpty()) << "the window is small";
  hear(acknowledgement(kFirstPsn + 26));
  EXPECT_THAT(sent_psns(), ElementsAre(130, 131, 132));
  rig_.advance(milliseconds(31));
  EXPECT_THAT(sent_psns(), IsEmpty()) << "answers take longer than was waited for";
  hear(acknowledgement(kFirstPsn + 32));
  EXPECT_EQ(qp_->sends.size(), 11u);
}

TEST_F(RocePeer, AComplaintAfterASilenceIsNoLateAnswer) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(20));
  sent_.clear();
  hear(Opcode::kAcknowledge, kFirstPsn + 9, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_EQ(sent_psns().front(), kFirstPsn + 9);
}

// A second silence says nothing new about how much the network carries.
TEST_F(RocePeer, AfterALongSilenceTheWindowGrowsAsFast) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(200));
  sent_.clear();
  hear(acknowledgement(kFirstPsn + 3));
  EXPECT_THAT(sent_psns(), ElementsAre(104, 105, 106, 107, 108, 109, 110, 111));
}

// A worker that did not run finds its timers expired and the answers before its door.
TEST_F(RocePeer, AnAnswerThatCameInTimeIsHeardBeforeAnythingIsSentAgain) {
  connect();
  post_send(1);
  sent_.clear();
  rig_.skip(milliseconds(20));
  hear(acknowledgement(kFirstPsn + 2));
  EXPECT_THAT(sent_psns(), IsEmpty());
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 0u);
}

// All that came in time has been heard long before this ends.
TEST_F(RocePeer, WhatKeepsComingDoesNotHoldUpATimer) {
  connect();
  post_send(1);
  bool was_busy = false;
  rig_.wire().set_weather([&](unsigned, const FrameBytes&) {
    was_busy = rig_.wire().busy();
    return std::vector<FrameBytes>();
  });
  rig_.skip(milliseconds(20));
  const FrameBytes old = frame_of(acknowledgement(kFirstPsn - 1), {});
  for (int i = 0; i < 20'000; ++i) rig_.wire().inject(0, old);
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(was_busy) << "it waited until nothing came any more";
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 1u);
}

TEST_F(RocePeer, ReservedRefusalsAndKindsAreCountedAndIgnored) {
  connect();
  post_send(1);
  for (const std::uint8_t syndrome : std::array<std::uint8_t, 4>{0x65, 0x7F, 0x40, 0x5F}) {
    hear(Opcode::kAcknowledge, kFirstPsn, syndrome);
  }
  EXPECT_EQ(rig_.counters(0).bad_responses.value(), 4u);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  EXPECT_EQ(qp_->state(), verbs::QpState::kReadyToSend);
}

// rxe and some adapters say how many receives they have. We find out by asking.
TEST_F(RocePeer, CreditsAreIgnored) {
  connect();
  for (std::uint8_t credits = 0; credits < 32; ++credits) {
    post_send(credits);
    hear(Opcode::kAcknowledge, kFirstPsn + 3u * credits + 2, credits);
  }
  EXPECT_THAT(qp_->sends.statuses(), testing::SizeIs(32));
  EXPECT_THAT(qp_->sends.statuses(), testing::Each(WcStatus::kSuccess));
}

// rxe: the packets that were under way behind the one that had no receive are out of order to it.
TEST_F(RocePeer, ASequenceErrorAfterReceiverNotReadyEndsNoWaitAndCostsNoRetry) {
  attributes_.rnr_retry = 1;
  connect();
  post_send(1);
  sent_.clear();
  constexpr std::uint8_t kTimer = 14;  // 1.28 ms
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::receiver_not_ready(kTimer));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  rig_.advance(microseconds(1200));
  EXPECT_THAT(sent_psns(), IsEmpty());
  rig_.advance(microseconds(200));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  EXPECT_EQ(qp_->qp->stats().rnr_waits, 1u);
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
  hear(Opcode::kAcknowledge, kFirstPsn + 2, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

// The data of a READ whose second packet was lost. It is asked for from there on, and rxe goes on
// with a middle packet, an adapter with a READ of its own.
TEST_F(RocePeer, TheRestOfAReadIsTakenAsEitherSendsIt) {
  for (const bool is_adapter : {false, true}) {
    is_adapter_ = is_adapter;
    qp_ = rig_.a().queue_pair();
    connect();
    sent_.clear();
    post_read(1);
    EXPECT_THAT(sent_psns(), ElementsAre(100));
    hear(Opcode::kReadResponseFirst, kFirstPsn, wire::roce::kAcknowledged, kMtu);
    hear(Opcode::kReadResponseMiddle, kFirstPsn + 2, wire::roce::kAcknowledged, kMtu);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].opcode, Opcode::kReadRequest);
    EXPECT_EQ(sent_[0].psn, kFirstPsn + 1);
    EXPECT_EQ(sent_[0].address, 0x1000 + kMtu);
    EXPECT_EQ(sent_[0].length, 3 * kMtu);
    hear(is_adapter ? Opcode::kReadResponseFirst : Opcode::kReadResponseMiddle, kFirstPsn + 1,
         wire::roce::kAcknowledged, kMtu);
    hear(Opcode::kReadResponseMiddle, kFirstPsn + 2, wire::roce::kAcknowledged, kMtu);
    hear(Opcode::kReadResponseLast, kFirstPsn + 3, wire::roce::kAcknowledged, kMtu);
    EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(fetched(i), payload_of(kMtu, kFirstPsn + i));
  }
}

// Where something of a READ was lost, as much is asked for as came before, and no more than the
// peer has a request for. What it sends meanwhile of the answer that it had begun asks for nothing.
TEST_F(RocePeer, AReadIsGoneOnWithInParts) {
  connect();
  post_long_read(1);
  post_send(2);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].length, 16 * kMtu);
  sent_.clear();
  hear_data(100, 106);
  hear_data(107, 116);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, 106u);
  EXPECT_EQ(sent_[0].address, 0x1000 + 6 * kMtu);
  EXPECT_EQ(sent_[0].length, 6 * kMtu);
  sent_.clear();
  hear_data(106, 108);
  hear_data(113, 116);
  hear(Opcode::kAcknowledge, 118, wire::roce::kAcknowledged);  // of the send
  EXPECT_THAT(sent_, IsEmpty());
  hear_data(108, 112);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].length, 4 * kMtu);
  EXPECT_THAT(sent_psns(), ElementsAre(112, 116, 117, 118));
  hear_data(112, 116);
  hear(Opcode::kAcknowledge, 118, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess));
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(fetched(i), payload_of(kMtu, kFirstPsn + i));
}

// A READ that follows is asked for in parts with numbers of their own, one after another, and what
// follows it waits.
TEST_F(RocePeer, AfterALossReadsBeginInParts) {
  connect();
  post_long_read(1);
  hear_data(100, 104);
  hear_data(105, 116);
  hear_data(104, 108);
  sent_.clear();
  hear_data(108, 116);
  ASSERT_EQ(qp_->sends.size(), 1u);
  sent_.clear();
  post_long_read(2);
  post_send(3);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, 116u);
  EXPECT_EQ(sent_[0].length, 12 * kMtu);
  sent_.clear();
  hear_data(116, 128);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].psn, 128u);
  EXPECT_EQ(sent_[0].address, 0x1000 + 12 * kMtu);
  EXPECT_EQ(sent_[0].length, 4 * kMtu);
  EXPECT_EQ(sent_[1].psn, 132u);
}

// A peer that never had the request would take a part of it for all of it.
TEST_F(RocePeer, UntilThePeerAnswersItIsAskedForAllAgain) {
  connect();
  post_long_read(1);
  sent_.clear();
  rig_.advance(milliseconds(20));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].length, 16 * kMtu);
}

// IBTA 9.7.5.1.2: an acknowledgement of what follows says that the READ's data was lost.
TEST_F(RocePeer, AnAcknowledgementBehindAReadAsksForItAgain) {
  connect();
  post_read(1);
  post_send(2);
  sent_.clear();
  hear(Opcode::kAcknowledge, kFirstPsn + 6, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  ASSERT_FALSE(sent_.empty());
  EXPECT_EQ(sent_[0].opcode, Opcode::kReadRequest);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
}

TEST_F(RocePeer, AnswersToWhatWasNeverSentAreCounted) {
  connect();
  post_send(1);
  hear(Opcode::kAcknowledge, kFirstPsn + 3, wire::roce::kAcknowledged);
  hear(Opcode::kReadResponseOnly, kFirstPsn + 1, wire::roce::kAcknowledged, kMtu);
  hear(Opcode::kAtomicAcknowledge, kFirstPsn, wire::roce::kAcknowledged);
  EXPECT_EQ(rig_.counters(0).bad_responses.value(), 3u);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
}

// rxe sends a sequence error then. The peer sends again without being asked.
TEST_F(RocePeer, AfterReceiverNotReadyWeDropWhatFollowsInSilence) {
  connect();
  hear(of_peer(Opcode::kSendFirst, kFirstPsn), kMtu);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::receiver_not_ready(attributes_.min_rnr_timer));
  sent_.clear();
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kMtu);
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  EXPECT_THAT(sent_psns(), IsEmpty());
  qp_->post(receive_request(5, {buffer_.whole()}));
  hear(of_peer(Opcode::kSendOnly, kFirstPsn), 10);
  ASSERT_EQ(qp_->receives.size(), 1u);
  EXPECT_EQ(qp_->receives.at(0).byte_len, 10u);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::kAcknowledged);
}

TEST_F(RocePeer, AGapIsToldOnce) {
  connect();
  qp_->post(receive_request(5, {buffer_.whole()}));
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kMtu);
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::refused(NakCode::kSequenceError));
}

// max_dest_rd_atomic of them are kept, here one. An older one is dropped, as by rxe and adapters.
TEST_F(RocePeer, AnAtomicThatComesAgainIsAnsweredWhileItIsKept) {
  connect();
  hear(add_of_peer(kFirstPsn));
  hear(add_of_peer(kFirstPsn + 1));
  EXPECT_EQ(word(), 2u);
  sent_.clear();
  hear(add_of_peer(kFirstPsn));
  EXPECT_THAT(sent_, IsEmpty());
  hear(add_of_peer(kFirstPsn + 1));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].opcode, Opcode::kAtomicAcknowledge);
  EXPECT_EQ(sent_[0].psn, kFirstPsn + 1);
  EXPECT_EQ(sent_[0].original, 1u);
  EXPECT_EQ(word(), 2u);
}

// What comes again in another shape is not what was asked.
TEST_F(RocePeer, AnAtomicIsNotAnsweredAsARead) {
  connect();
  hear(add_of_peer(kFirstPsn));
  sent_.clear();
  hear(read_of_peer(kFirstPsn, 0, 8));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(RocePeer, TheRestOfAReadIsSentInTheMannerOfThePeer) {
  for (const bool is_adapter : {false, true}) {
    is_adapter_ = is_adapter;
    qp_ = rig_.a().queue_pair();
    connect();
    sent_.clear();
    hear(read_of_peer(kFirstPsn, 0, 4 * kMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
                            Opcode::kReadResponseMiddle, Opcode::kReadResponseLast));
    hear(read_of_peer(kFirstPsn + 1, kMtu, 3 * kMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(is_adapter ? Opcode::kReadResponseFirst : Opcode::kReadResponseMiddle,
                            Opcode::kReadResponseMiddle, Opcode::kReadResponseLast));
    hear(read_of_peer(kFirstPsn + 3, 3 * kMtu, kMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(is_adapter ? Opcode::kReadResponseOnly : Opcode::kReadResponseLast));
  }
}

TEST_F(RocePeer, AReadThatIsNoLongerKeptIsNotAnsweredAgain) {
  connect();
  hear(read_of_peer(kFirstPsn, 0, kMtu));
  hear(read_of_peer(kFirstPsn + 1, 0, kMtu));
  sent_.clear();
  hear(read_of_peer(kFirstPsn, 0, kMtu));
  EXPECT_THAT(sent_, IsEmpty());
  hear(read_of_peer(kFirstPsn + 1, 0, kMtu));
  EXPECT_THAT(sent_psns(), ElementsAre(kFirstPsn + 1));
}

// Numbers wrap: what is kept of a READ long ago would be one to come, and an acknowledgement up to
// there would say that packets have arrived which have not.
TEST_F(RocePeer, AReadOfLongAgoIsForgotten) {
  constexpr std::uint32_t kLong = 1u << 22;
  connect();
  hear(read_of_peer(kFirstPsn, 0, kMtu));
  auto state = *rig_.roce().state_of(*qp_->qp);
  for (const std::uint32_t passed : {kLong - 9, kLong, 3 * kLong, 7 * kLong}) {
    const std::uint32_t number = qp_->qp->number();
    qp_.reset();
    qp_ = rig_.a().queue_pair(verbs::QpType::kReliableConnected, false, number);
    connect();
    const std::uint32_t expected = (kFirstPsn + 1 + passed) & verbs::Psn::kMask;
    state.responder.expected = verbs::Psn(expected);
    rig_.roce().restore(*qp_->qp, state);
    sent_.clear();
    hear(write_of_peer(expected));
    hear(write_of_peer(expected));
    EXPECT_THAT(sent_psns(), ElementsAre(expected, expected)) << passed;
    hear(read_of_peer(kFirstPsn, 0, kMtu));
    const bool is_answered = sent_opcodes() == std::vector{Opcode::kReadResponseOnly};
    EXPECT_EQ(is_answered, passed < kLong) << passed;
  }
}

TEST_F(RocePeer, ReadsBeyondTheRegionAreRefused) {
  connect();
  hear(read_of_peer(kFirstPsn, 15 * kMtu, 2 * kMtu));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::refused(NakCode::kRemoteAccessError));
  EXPECT_EQ(qp_->state(), verbs::QpState::kError);
}

// A SEND's length is known with its last packet.
TEST_F(RocePeer, ASendThatGrowsBeyondItsReceiveIsRefused) {
  connect();
  qp_->post(receive_request(5, {buffer_.sge(0, kMtu + 10)}));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn), kMtu);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::kAcknowledged);
  sent_.clear();
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 1), 11);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::refused(NakCode::kInvalidRequest));
  ASSERT_EQ(qp_->receives.size(), 1u);
  EXPECT_EQ(qp_->receives.at(0).status, WcStatus::kLocalLengthError);
}

// It knows nothing of the connection: what it sends is of another, or for none.
TEST_F(RocePeer, APeerThatHasRebootedIsGivenUpInTheQueuePairsOwnTime) {
  attributes_.timeout = 14;  // 67 ms
  connect();
  post_send(1);
  hear(of_peer(Opcode::kSendOnly, kFirstPsn + 5'000'000), 10);  // of its new connection
  rig_.advance(milliseconds(190));
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  rig_.advance(milliseconds(30));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

}  // namespace
}  // namespace paravane::fake
