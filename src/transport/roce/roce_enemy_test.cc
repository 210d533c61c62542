// Peers and strangers that do what no honest peer does, and guests that take back what they gave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using testing::Each;
using verbs::WcStatus;
using wire::roce::Opcode;
using wire::roce::Packet;

class RoceEnemy : public testing::Test {
 protected:
  RoceEnemy() { attributes_.path_mtu = 3; }  // 1024
  void connect() { rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }

  // As if b had sent it.
  Packet from_b(Opcode opcode, std::uint32_t psn) const {
    Packet packet;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = RoceRig::mac(1),
                    .destination_mac = RoceRig::mac(0),
                    .source = rig_b_gid_.raw,
                    .destination = rig_a_gid_.raw,
                    .hop_limit = 64,
                    .udp_source_port = 50'000};
    packet.opcode = opcode;
    packet.destination_qp = qp_a_->qp->number();
    packet.psn = psn;
    return packet;
  }

  RoceRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const verbs::Gid rig_a_gid_ = rig_.a().gid();
  const verbs::Gid rig_b_gid_ = rig_.b().gid();
};

// READs that come again and again are answered, and are no READs of their own.
TEST_F(RoceEnemy, RequestsThatAreRepeatedBreakNothing) {
  attributes_.max_reads = 4;
  attributes_.max_dest_reads = 4;
  connect();
  std::vector<FrameBytes> old;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    const auto parsed = wire::roce::parse_frame(frame);
    if (side == 0 && parsed && parsed->packet.opcode == Opcode::kReadRequest) {
      for (int i = 0; i < 3; ++i) arrives.push_back(frame);
      old.push_back(frame);
      if (old.size() > 2) arrives.push_back(old[old.size() - 3]);
    }
    arrives.push_back(std::move(frame));
    return arrives;
  });
  const EngineBuffer to = rig_.a().buffer(1 << 20);
  const EngineBuffer from = rig_.b().buffer(1 << 20);
  rig_.b().fill(from, 3);
  for (std::uint64_t i = 0; i < 16; ++i) {
    qp_a_->post(read_request(i, {to.sge(i * 65'536, 65'536)}, from.start + i * 65'536, from.key));
  }
  for (int i = 0; i < 100'000 && qp_a_->sends.size() < 16; ++i) {
    rig_.turn({.bytes = 8192, .operations = 8});
  }
  rig_.advance(std::chrono::seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(16, WcStatus::kSuccess));
  EXPECT_EQ(qp_b_->state(), verbs::QpState::kReadyToSend);
  EXPECT_EQ(rig_.a().read(to, 0, 1 << 20), rig_.b().read(from, 0, 1 << 20));
}

// Linux's rdma_rxe takes an acknowledgement that has the number of a READ or of an atomic for its
// answer, and tells its program that it is done.
TEST_F(RoceEnemy, AnAcknowledgementIsNeverThatOfAReadOrAnAtomic) {
  connect();
  const EngineBuffer here = rig_.a().buffer(4096);
  const EngineBuffer there = rig_.b().buffer(4096);
  std::optional<std::uint32_t> fetched;
  unsigned acknowledged = 0;
  unsigned hides_fetch = 0;
  FrameBytes write;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    const Packet packet = wire::roce::parse_frame(frame)->packet;
    if (side == 0 && packet.opcode == Opcode::kWriteOnly) write = frame;
    const bool is_fetch =
        packet.opcode == Opcode::kReadRequest || packet.opcode == Opcode::kFetchAdd;
    if (side == 0 && is_fetch) fetched = packet.psn;
    if (side == 1 && packet.opcode == Opcode::kAcknowledge) {
      ++acknowledged;
      if (fetched && packet.psn == *fetched) ++hides_fetch;
    }
    arrives.push_back(std::move(frame));
    if (side == 0 && is_fetch) arrives.push_back(write);  // it comes once more
    return arrives;
  });
  qp_a_->post(write_request(1, {here.sge(0, 100)}, there.start, there.key));
  qp_a_->post(read_request(2, {here.sge(200, 100)}, there.start, there.key));
  rig_.advance(std::chrono::seconds(1));
  qp_a_->post(write_request(3, {here.sge(0, 100)}, there.start, there.key));
  qp_a_->post(add_request(4, here.sge(8, 8), there.start, there.key, 1));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(4, WcStatus::kSuccess));
  EXPECT_GE(acknowledged, 2u);
  EXPECT_EQ(hides_fetch, 0u);
}

// The program takes a region back while its request waits behind one that has to be sent again.
TEST_F(RoceEnemy, ARequestWhoseMemoryIsGoneKeepsNoEarlierOneAway) {
  connect();
  unsigned count = 0;
  rig_.wire().set_weather([&](unsigned, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    if (++count != 18) arrives.push_back(std::move(frame));
    return arrives;
  });
  const EngineBuffer first = rig_.a().buffer(20'000);
  const EngineBuffer second = rig_.a().buffer(4000);
  const EngineBuffer to = rig_.b().buffer(20'000);
  rig_.a().fill(first, 3);
  qp_a_->post(write_request(1, {first.whole()}, to.start, to.key));
  qp_a_->post(write_request(2, {second.whole()}, to.start, to.key));
  rig_.turn({.bytes = 5000, .operations = 64});  // a part of the first
  ASSERT_TRUE(rig_.a().adapter().regions().remove(second.key));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(),
            (std::vector{WcStatus::kSuccess, WcStatus::kLocalProtectionError}));
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 0u) << "it is sent again at once";
  EXPECT_EQ(rig_.b().read(to, 0, 20'000), rig_.a().read(first, 0, 20'000));
}

// A peer that complains without end, and brings nothing forward, is given up in the queue pair's
// own time.
TEST_F(RoceEnemy, ComplaintsDoNotPutOffTheTimeout) {
  attributes_.timeout = 14;  // 67 ms
  attributes_.retry_count = 1;
  connect();
  rig_.wire().set_weather([](unsigned, FrameBytes) { return std::vector<FrameBytes>(); });
  qp_a_->post(send_request(1, {}));
  Packet complaint = from_b(Opcode::kAcknowledge, 0);
  complaint.syndrome = wire::roce::refused(wire::roce::NakCode::kSequenceError);
  for (int i = 0; i < 400 && qp_a_->sends.size() == 0; ++i) {
    rig_.wire().inject(0, frame_of(complaint, {}));
    rig_.advance(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

// What is not from the peer changes nothing, and is not answered.
TEST_F(RoceEnemy, StrangersAreCountedAndNotAnswered) {
  connect();
  const EngineBuffer buffer = rig_.a().buffer(4096);
  Packet write = from_b(Opcode::kWriteOnly, 0);
  write.address = buffer.start;
  write.rkey = buffer.key;
  write.length = 8;
  const FrameBytes payload = payload_of(8, 1);

  Packet other_source = write;
  other_source.route.source[15] ^= 1;
  rig_.wire().inject(0, frame_of(other_source, payload));
  Packet other_network = write;
  other_network.route.network = wire::roce::Network::kV1;
  rig_.wire().inject(0, frame_of(other_network, payload));
  Packet other_queue_pair = write;
  other_queue_pair.destination_qp ^= 0x800000;
  rig_.wire().inject(0, frame_of(other_queue_pair, payload));
  Packet other_mac = write;
  other_mac.route.destination_mac[5] ^= 1;
  rig_.wire().inject(0, frame_of(other_mac, payload));
  FrameBytes damaged = frame_of(write, payload);
  damaged[damaged.size() - 6] ^= std::byte{1};
  rig_.wire().inject(0, damaged);
  ASSERT_TRUE(rig_.run());

  EXPECT_EQ(rig_.counters(0).forged_source.value(), 2u);
  EXPECT_EQ(rig_.counters(0).unknown_qp.value(), 1u);
  EXPECT_EQ(rig_.counters(0).foreign_mac.value(), 1u);
  EXPECT_EQ(rig_.counters(0).icrc_errors.value(), 1u);
  EXPECT_EQ(rig_.wire().sent(0), 0u);
  EXPECT_THAT(rig_.a().read(buffer, 0, 8), Each(std::byte{}));

  rig_.wire().inject(0, frame_of(write, payload));  // and the peer's is executed
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.a().read(buffer, 0, 8), payload);
}

// A million frames a second for a queue pair that is not there: so many are read as take less than
// a tenth of a second, and when it is over the port works as before.
TEST_F(RoceEnemy, AFloodIsReadSlowly) {
  connect();
  Packet stray = from_b(Opcode::kWriteOnly, 0);
  stray.destination_qp = 0xABCDE;
  const FrameBytes frame = frame_of(stray, {});
  rig_.wire().set_most_arriving(2000);
  for (int i = 0; i < 1000; ++i) {
    for (int j = 0; j < 1000; ++j) rig_.wire().inject(0, frame);
    rig_.skip(std::chrono::milliseconds(1));
    for (int turns = 0; turns < 40; ++turns) rig_.turn();
  }
  const std::uint64_t read = rig_.counters(0).unknown_qp.value();
  EXPECT_LE(read, 25'600u);
  EXPECT_GE(read, 10'000u);
  EXPECT_GT(rig_.roce().resumes(verbs::AdapterId{0}), rig_.now());
  const EngineBuffer from = rig_.a().buffer(64);
  const EngineBuffer to = rig_.b().buffer(64);
  qp_a_->post(write_request(1, {from.whole()}, to.start, to.key));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

// The switch's MTU was lowered below the connection's path MTU: nothing would arrive, and the
// program hears of it at once.
TEST_F(RoceEnemy, AnMtuThatIsTooSmallIsToldAndNotTried) {
  connect();
  const EngineBuffer from = rig_.a().buffer(4096);
  const EngineBuffer to = rig_.b().buffer(4096);
  rig_.wire().set_mtu(1024 + 84);
  qp_a_->post(write_request(1, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig_.run());
  rig_.wire().set_mtu(1024 + 83);
  const std::uint64_t sent = rig_.wire().sent(0);
  qp_a_->post(write_request(2, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector({WcStatus::kSuccess, WcStatus::kRetryExceeded}));
  EXPECT_EQ(rig_.wire().sent(0), sent);
  EXPECT_EQ(rig_.counters(0).too_long.value(), 1u);
}

TEST(PathMtu, IsTheLargestThatTheNetworkCarries) {
  using transport_roce::path_mtu_of;
  EXPECT_EQ(path_mtu_of(1500), 3u);
  EXPECT_EQ(path_mtu_of(2048 + 83), 3u);
  EXPECT_EQ(path_mtu_of(2048 + 84), 4u);
  EXPECT_EQ(path_mtu_of(4096 + 83), 4u);
  EXPECT_EQ(path_mtu_of(4096 + 84), 5u);
  EXPECT_EQ(path_mtu_of(9000), 5u);
  EXPECT_EQ(path_mtu_of(100), 1u);
}

// IBTA 9.7.4.1: packets out of the order of their message, or of a wrong size.
TEST_F(RoceEnemy, PacketsThatBreakTheRulesEndTheConnection) {
  struct Case {
    Opcode opcode;
    std::uint32_t bytes;
  };
  for (const Case& c : {Case{Opcode::kWriteMiddle, 1024}, Case{Opcode::kWriteLast, 10},
                        Case{Opcode::kSendMiddle, 1024}, Case{Opcode::kWriteFirst, 1000},
                        Case{Opcode::kWriteOnly, 1025}, Case{Opcode::kSendFirst, 0}}) {
    qp_a_ = rig_.a().queue_pair();
    qp_b_ = rig_.b().queue_pair();
    connect();
    const EngineBuffer buffer = rig_.a().buffer(4096);
    Packet packet = from_b(c.opcode, 0);
    packet.address = buffer.start;
    packet.rkey = buffer.key;
    packet.length = 4096;
    packet.wants_ack = true;
    rig_.wire().inject(0, frame_of(packet, payload_of(c.bytes, 1)));
    ASSERT_TRUE(rig_.run());
    EXPECT_EQ(qp_a_->state(), verbs::QpState::kError) << static_cast<int>(c.opcode);
    EXPECT_THAT(rig_.a().read(buffer, 0, 4096), Each(std::byte{}));
  }
}

}  // namespace
}  // namespace paravane::fake
