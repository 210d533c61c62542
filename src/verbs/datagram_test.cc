// Datagrams from one adapter's queue pair to another's, over the local path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/engine_rig.h"
#include "verbs/grh.h"

namespace paravane::verbs {
namespace {

using fake::default_attributes;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineVm;
using fake::receive_request;
using fake::send_request;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kUd = QpType::kUnreliableDatagram;
constexpr auto kGsiQp = QpType::kGeneralServices;
constexpr std::uint32_t kGsiQkey = 0x8001'0000;

Gid ipv4_gid(std::uint8_t last) {
  return Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last}};
}

class DatagramTest : public testing::Test {
 protected:
  DatagramTest() {
    rig_.a().fill(payload_, 1);
    start(*from_, default_attributes().qkey);
    start(*to_, default_attributes().qkey);
  }
  static void start(EngineQp& qp, std::uint32_t qkey) {
    QpAttributes attributes = default_attributes();
    attributes.qkey = qkey;
    ASSERT_TRUE(fake::bring_up(*qp.qp, QpState::kReadyToSend, attributes));
  }
  SendRequest datagram(std::uint64_t bytes, const EngineQp& to) {
    SendRequest request = send_request(1, {payload_.sge(0, bytes)});
    request.remote_qpn = to.qp->number();
    request.remote_qkey = default_attributes().qkey;
    request.av.dgid = rig_.b().gid();
    request.av.hop_limit = 64;
    return request;
  }
  void send(const SendRequest& request) {
    from_->post(request);
    ASSERT_TRUE(rig_.run());
  }
  // The datagram left without an error and arrived nowhere.
  void expect_dropped(std::uint64_t dropped_at_b = 1) {
    EXPECT_EQ(from_->sends.statuses(), std::vector{WcStatus::kSuccess});
    EXPECT_THAT(to_->receives.all(), IsEmpty());
    EXPECT_EQ(rig_.b().counters().datagrams_dropped.value(), dropped_at_b);
    EXPECT_EQ(to_->state(), QpState::kReadyToSend);
  }

  fake::EngineRig rig_;
  EngineBuffer payload_ = rig_.a().buffer(8192);
  EngineBuffer place_ = rig_.b().buffer(8192);
  std::unique_ptr<EngineQp> from_ = rig_.a().queue_pair(kUd);
  std::unique_ptr<EngineQp> to_ = rig_.b().queue_pair(kUd);
};

TEST_F(DatagramTest, C66HeaderIsScatteredLikeData) {
  to_->post(receive_request(1, {place_.sge(0, 3), place_.sge(3, 50), place_.sge(53, 100)}));
  send(datagram(100, *to_));

  ASSERT_EQ(to_->receives.size(), 1u);
  EXPECT_EQ(to_->receives.at(0).byte_len, 140u);
  EXPECT_EQ(rig_.b().read(place_, 40, 100), EngineVm::pattern(100, 1));
  const GrhArea expected =
      build_grh(GidType::kRoceV2, rig_.a().gid(), datagram(100, *to_).av, 100, false);
  EXPECT_THAT(rig_.b().read(place_, 0, 40), testing::ElementsAreArray(expected));
}

// Of a datagram that came in a packet, a program sees the header that was on the wire.
TEST_F(DatagramTest, AHeaderFromAWireIsShownAsItCame) {
  to_->post(receive_request(1, {place_.whole()}));
  GrhArea header{};
  header.fill(std::byte{0x5A});
  const std::vector<std::byte> bytes = EngineVm::pattern(100, 4);
  const DatagramSource source{
      .sgid = ipv4_gid(9), .qpn = 55, .qkey = default_attributes().qkey, .header = header};
  to_->qp->responder().datagram(source, datagram(0, *to_), bytes);
  ASSERT_EQ(to_->receives.size(), 1u);
  EXPECT_EQ(to_->receives.at(0).source_qpn, 55u);
  EXPECT_THAT(rig_.b().read(place_, 0, 40), testing::ElementsAreArray(header));
  EXPECT_EQ(rig_.b().read(place_, 40, 100), bytes);
}

TEST_F(DatagramTest, C66ImmediateAndSolicitedArrive) {
  to_->post(receive_request(1, {place_.sge(0, 40)}));
  SendRequest request =
      fake::with_imm(datagram(0, *to_), {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  request.solicited = true;
  request.av.service_level = 3;
  send(request);
  const Completion& received = to_->receives.at(0);
  EXPECT_TRUE(received.with_imm);
  EXPECT_EQ(received.imm, request.imm);
  EXPECT_TRUE(received.solicited);
  EXPECT_EQ(received.byte_len, 40u);
  EXPECT_EQ(received.service_level, 3);
  EXPECT_EQ(received.opcode, WcOpcode::kReceive);
}

TEST_F(DatagramTest, C66WrongQkeyIsDroppedAndCounted) {
  to_->post(receive_request(1, {place_.whole()}));
  SendRequest request = datagram(10, *to_);
  request.remote_qkey = 0x2222;
  send(request);
  expect_dropped();
  EXPECT_EQ(rig_.b().counters().qkey_violations.value(), 1u);
  EXPECT_EQ(to_->work.receives_left(), 1u);
}

TEST_F(DatagramTest, C66UpperBitUsesOurOwnQkey) {
  to_->post(receive_request(1, {place_.whole()}));
  SendRequest request = datagram(10, *to_);
  request.remote_qkey = 0xFFFF'FFFF;
  send(request);
  EXPECT_EQ(to_->receives.size(), 1u);
}

TEST_F(DatagramTest, ProgramsCannotNameTheKernelsQkey) {
  const auto gsi = rig_.b().queue_pair(kGsiQp);
  start(*gsi, kGsiQkey);
  gsi->post(receive_request(1, {place_.whole()}));
  SendRequest request = datagram(10, *gsi);
  request.remote_qkey = kGsiQkey;  // stands for our own, which is another
  send(request);
  EXPECT_THAT(gsi->receives.all(), IsEmpty());
  EXPECT_EQ(rig_.b().counters().qkey_violations.value(), 1u);
}

TEST_F(DatagramTest, GsiDatagramsReachNumberOneOfThePeer) {
  const auto gsi_a = rig_.a().queue_pair(kGsiQp);
  const auto gsi_b = rig_.b().queue_pair(kGsiQp);
  start(*gsi_a, kGsiQkey);
  start(*gsi_b, kGsiQkey);
  gsi_b->post(receive_request(9, {place_.sge(0, 296)}));
  SendRequest request = datagram(0, *gsi_b);
  request.sges.entries[0] = payload_.sge(0, 24);
  request.sges.entries[1] = payload_.sge(24, 232);
  request.sges.count = 2;
  request.remote_qkey = kGsiQkey;
  gsi_a->post(request);
  ASSERT_TRUE(rig_.run());

  ASSERT_EQ(gsi_b->receives.size(), 1u);
  EXPECT_EQ(gsi_b->receives.at(0).byte_len, 296u);
  EXPECT_EQ(gsi_b->receives.at(0).source_qpn, 1u);
  EXPECT_TRUE(gsi_b->receives.at(0).with_grh);
  EXPECT_EQ(rig_.b().read(place_, 40, 256), EngineVm::pattern(256, 1));
}

TEST_F(DatagramTest, NoReceivePostedIsADrop) {
  send(datagram(10, *to_));
  expect_dropped();
}

TEST_F(DatagramTest, C64TooLongForTheReceiveIsADropThatCostsNoReceive) {
  to_->post(receive_request(1, {place_.sge(0, 139)}));
  send(datagram(100, *to_));
  expect_dropped();
  send(datagram(99, *to_));
  ASSERT_EQ(to_->receives.size(), 1u);
  EXPECT_EQ(to_->receives.at(0).status, WcStatus::kSuccess);
  EXPECT_EQ(to_->receives.at(0).byte_len, 139u);
}

TEST_F(DatagramTest, UnknownNumberIsADrop) {
  SendRequest request = datagram(10, *to_);
  request.remote_qpn = 0xABCDEF;
  send(request);
  expect_dropped(0);
  EXPECT_EQ(rig_.a().counters().datagrams_unreachable.value(), 1u);
}

TEST_F(DatagramTest, UnknownGidIsADrop) {
  SendRequest request = datagram(10, *to_);
  request.av.dgid.raw[15] ^= 0x40;
  send(request);
  expect_dropped(0);
}

TEST_F(DatagramTest, MulticastIsADrop) {
  SendRequest request = datagram(10, *to_);
  request.av.dgid.raw[0] = 0xFF;
  send(request);
  request.av.dgid = Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 0, 0, 1}};
  from_->sends.clear();
  send(request);
  expect_dropped(0);
  EXPECT_EQ(rig_.a().counters().datagrams_unreachable.value(), 2u);
}

TEST_F(DatagramTest, SourceGidThatIsUnboundIsADrop) {
  to_->post(receive_request(1, {place_.whole()}));
  SendRequest request = datagram(10, *to_);
  request.av.sgid_index = 7;
  send(request);
  expect_dropped(0);
}

TEST_F(DatagramTest, GidThatWasUnboundIsNoLongerReached) {
  to_->post(receive_request(1, {place_.whole()}));
  to_->post(receive_request(2, {place_.whole()}));
  send(datagram(10, *to_));
  ASSERT_EQ(to_->receives.size(), 1u);
  ASSERT_TRUE(rig_.b().adapter().unbind_gid(0));
  send(datagram(10, *to_));
  EXPECT_EQ(to_->receives.size(), 1u);
}

TEST_F(DatagramTest, MessagesQueuePairsTakeNoDatagrams) {
  const auto rc = rig_.b().queue_pair();
  fake::EngineRig::bring_up_to(*rc, QpState::kReadyToSend, rig_.a().gid(), 5);
  rc->post(receive_request(1, {place_.whole()}));
  send(datagram(10, *rc));
  EXPECT_THAT(rc->receives.all(), IsEmpty());
  EXPECT_EQ(rc->state(), QpState::kReadyToSend);
}

TEST_F(DatagramTest, OwnBadReceiveStopsTheReceiver) {
  const EngineBuffer readable = rig_.b().buffer(256, 0);
  to_->post(receive_request(1, {readable.whole()}));
  send(datagram(10, *to_));
  EXPECT_THAT(to_->receives.statuses(), ElementsAre(WcStatus::kLocalProtectionError));
  EXPECT_EQ(to_->state(), QpState::kError);
  EXPECT_EQ(from_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(DatagramTest, LoopbackToOurOwnAdapterAndToOurselves) {
  const EngineBuffer here = rig_.a().buffer(4136);
  from_->post(receive_request(5, {here.whole()}));
  SendRequest request = datagram(4096, *from_);
  request.av.dgid = rig_.a().gid();
  send(request);
  ASSERT_EQ(from_->receives.size(), 1u);
  EXPECT_EQ(from_->receives.at(0).byte_len, 4136u);
  EXPECT_EQ(rig_.a().read(here, 40, 4096), EngineVm::pattern(4096, 1));
}

TEST_F(DatagramTest, C67HeaderFollowsTheKindOfGid) {
  ASSERT_TRUE(rig_.a().adapter().bind_gid(2, ipv4_gid(1), GidType::kRoceV2));
  ASSERT_TRUE(rig_.b().adapter().bind_gid(2, ipv4_gid(2), GidType::kRoceV2));
  for (int i = 0; i < 3; ++i) to_->post(receive_request(1, {place_.whole()}));
  send(datagram(10, *to_));
  SendRequest v1 = datagram(10, *to_);
  v1.av.sgid_index = 1;
  send(v1);
  SendRequest over_ipv4 = datagram(10, *to_);
  over_ipv4.av.sgid_index = 2;
  over_ipv4.av.dgid = ipv4_gid(2);
  send(over_ipv4);

  ASSERT_EQ(to_->receives.size(), 3u);
  EXPECT_EQ(to_->receives.at(0).network_header, NetworkHeader::kIpv6);
  EXPECT_EQ(to_->receives.at(1).network_header, NetworkHeader::kRoceV1);
  EXPECT_EQ(to_->receives.at(2).network_header, NetworkHeader::kIpv4);
  EXPECT_EQ(rig_.b().read(place_, 20, 1).front(), std::byte{0x45});
}

TEST_F(DatagramTest, AbsentReceiveMemoryIsADrop) {
  to_->post(receive_request(1, {place_.whole()}));
  rig_.b().memory().unmap(rig_.b().ram().base(), rig_.b().ram().size());
  send(datagram(10, *to_));
  expect_dropped();
  rig_.b().ram().show(rig_.b().memory());
  send(datagram(10, *to_));
  EXPECT_EQ(to_->receives.size(), 1u);
}

TEST_F(DatagramTest, OwnAbsentMemoryIsWaitedFor) {
  to_->post(receive_request(1, {place_.whole()}));
  rig_.a().memory().unmap(rig_.a().ram().base(), rig_.a().ram().size());
  send(datagram(10, *to_));
  EXPECT_EQ(from_->sends.size(), 0u);
  rig_.a().ram().show(rig_.a().memory());
  rig_.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(from_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(to_->receives.size(), 1u);
}

TEST_F(DatagramTest, ReceiverInSendQueueErrorGoesOnReceiving) {
  to_->post(fake::write_request(1, {}, 0, 0));  // not for datagrams
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(to_->state(), QpState::kSendQueueError);
  to_->post(receive_request(1, {place_.whole()}));
  send(datagram(10, *to_));
  EXPECT_EQ(to_->receives.size(), 1u);
}

}  // namespace
}  // namespace paravane::verbs
