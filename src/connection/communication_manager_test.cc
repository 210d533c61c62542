#include "connection/communication_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

#include "connection/connection_test.h"

namespace paravane::connection {
namespace {

namespace communication = wire::infiniband::communication;
namespace reject_reason = wire::infiniband::reject_reason;
using fake::disconnect_of_peer;
using fake::gid_of;
using fake::ManagerRig;
using fake::peers_message;
using fake::reject_of_peer;
using fake::reply_of_peer;
using fake::wait_of_peer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::AnsweredMessage;
using wire::infiniband::ConnectionReject;
using wire::infiniband::ConnectionReply;
using wire::infiniband::ConnectionRequest;
using wire::infiniband::DisconnectReply;
using wire::infiniband::DisconnectRequest;
using wire::infiniband::ReadyToUse;

class CommunicationManagerTest : public testing::Test, protected ManagerRig {
 protected:
  std::size_t sent(std::uint16_t attribute) const { return port.count(attribute); }
};

// ---- Asking ----

TEST_F(CommunicationManagerTest, AsksThePeer) {
  const ConnectionId id = connect();
  ASSERT_NE(id, ConnectionId::kNone);
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(port.sent[0].to, kPeer);
  const auto request = port.sent[0].as<ConnectionRequest>();
  EXPECT_EQ(request.header.attribute.get(), communication::kRequest);
  EXPECT_EQ(request.local_id.get(), number(id));
  EXPECT_EQ(request.local_qp(), kOurQp);
  EXPECT_EQ(request.primary.remote_gid, kPeer);
  EXPECT_EQ(manager.size(), 1u);
}

TEST_F(CommunicationManagerTest, NoTwoConnectionsHaveOneNameOrTransaction) {
  std::set<std::uint32_t> names;
  std::set<std::uint64_t> transactions;
  for (int i = 0; i < 500; ++i) {
    const ConnectionId id = connect();
    names.insert(number(id));
    transactions.insert(port.sent.back().header().transaction.get());
    if (i % 2 == 0) manager.forget(id, now);
  }
  EXPECT_EQ(names.size(), 500u);
  EXPECT_EQ(transactions.size(), 500u);
}

TEST_F(CommunicationManagerTest, ValuesThatDoNotFitAreRefused) {
  const auto id = manager.connect({.remote_gid = kPeer, .local_qp = 0x100'0000}, now);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(manager.size(), 0u);
  EXPECT_TRUE(port.sent.empty());
}

TEST_F(CommunicationManagerTest, ConnectionsAreBounded) {
  std::vector<ConnectionId> ids;
  for (std::size_t i = 0; i < CommunicationManager::kMostConnections; ++i) ids.push_back(connect());
  const auto more = manager.connect({.remote_gid = kPeer, .local_qp = kOurQp}, now);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::kResourceExhausted);
  // One that ends makes room.
  manager.forget(ids.front(), now);
  EXPECT_NE(connect(), ConnectionId::kNone);
}

TEST_F(CommunicationManagerTest, ASilentPeerIsAskedFifteenTimesInSixteenSeconds) {
  const ConnectionId id = connect();
  pass(seconds(14));
  EXPECT_TRUE(events.events.empty());
  EXPECT_EQ(sent(communication::kRequest), 14u);
  pass(milliseconds(2107));
  const auto event = events.take();
  EXPECT_EQ(event.kind, Kind::kTimedOut);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(sent(communication::kRequest), CommunicationManager::kRequestTries);
  EXPECT_EQ(manager.size(), 0u);
  EXPECT_EQ(manager.next_deadline(), kNever);
}

TEST_F(CommunicationManagerTest, EachTryIsTheSameMessage) {
  connect();
  pass(seconds(3));
  ASSERT_GE(port.sent.size(), 3u);
  EXPECT_EQ(port.sent[0].mad, port.sent[1].mad);
  EXPECT_EQ(port.sent[1].mad, port.sent[2].mad);
}

// 12.6.7.2, reason 4: the peer finds what it has begun by our adapter's GUID and our ID.
TEST_F(CommunicationManagerTest, APeerIsToldThatARequestTimedOut) {
  const ConnectionId id = connect();
  pass(seconds(20));
  const auto reject = port.sent.back().as<ConnectionReject>();
  EXPECT_EQ(reject.header.attribute.get(), communication::kReject);
  EXPECT_EQ(reject.reason.get(), reject_reason::kTimeout);
  EXPECT_EQ(reject.local_id.get(), number(id));
  EXPECT_EQ(reject.remote_id.get(), 0u);
  EXPECT_EQ(reject.answered(), AnsweredMessage::kOther);
  EXPECT_EQ(reject.info_bytes(), 8u);
  Be64 guid;
  std::memcpy(&guid, reject.info.data(), sizeof guid);
  EXPECT_EQ(guid.get(), kOurGuid);
}

TEST_F(CommunicationManagerTest, AFullPortDelaysARequest) {
  port.room = 0;
  const ConnectionId id = connect();
  EXPECT_NE(id, ConnectionId::kNone);
  pass(milliseconds(100));
  port.room = 100;
  pass(milliseconds(20));
  EXPECT_EQ(sent(communication::kRequest), 1u);
  // It counts as no try.
  pass(seconds(20));
  EXPECT_EQ(sent(communication::kRequest), CommunicationManager::kRequestTries);
}

TEST_F(CommunicationManagerTest, APortThatStaysFullEndsARequest) {
  port.room = 0;
  connect();
  pass(seconds(29));
  EXPECT_TRUE(events.events.empty());
  pass(seconds(1));
  EXPECT_EQ(events.take().kind, Kind::kTimedOut);
}

TEST_F(CommunicationManagerTest, AdvanceSendsSoManyMessagesAndNoMore) {
  for (int i = 0; i < 200; ++i) connect();
  port.sent.clear();
  now += CommunicationManager::kResponseTime;
  manager.advance(now);
  EXPECT_EQ(port.sent.size(), CommunicationManager::kMostSentByAdvance);
  EXPECT_LE(manager.next_deadline(), now);
  for (int i = 0; i < 3; ++i) manager.advance(now);
  EXPECT_EQ(port.sent.size(), 200u);
  EXPECT_GT(manager.next_deadline(), now);
}

// ---- A reply ----

TEST_F(CommunicationManagerTest, AReplyIsTold) {
  const ConnectionId id = connect();
  ConnectionReply reply = reply_of_peer(kTheirId, number(id), kTheirQp);
  reply.psn.set(0xAB'CDEFU << 8);
  reply.responder_resources = 4;
  reply.initiator_depth = 5;
  reply.delay_failover_flow = 15 << 3 | 1;
  reply.rnr_srq = 7 << 5;
  reply.local_guid.set(0x1234);
  reply.private_data.back() = std::byte{9};
  hear(reply);
  const auto event = events.take();
  EXPECT_EQ(event.kind, Kind::kReply);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(event.reply.remote_qp, kTheirQp);
  EXPECT_EQ(event.reply.starting_psn, 0xAB'CDEFu);
  EXPECT_EQ(event.reply.responder_resources, 4);
  EXPECT_EQ(event.reply.initiator_depth, 5);
  EXPECT_EQ(event.reply.target_ack_delay, 15);
  EXPECT_EQ(event.reply.rnr_retry, 7);
  EXPECT_TRUE(event.reply.has_flow_control);
  EXPECT_EQ(event.reply.remote_guid, 0x1234u);
  EXPECT_EQ(event.data.size(), 196u);
  EXPECT_EQ(event.data.back(), std::byte{9});
  // Nothing is sent, again or anew, before the caller says so.
  pass(seconds(60));
  EXPECT_EQ(port.sent.size(), 1u);
}

TEST_F(CommunicationManagerTest, ReadyToUseHasTheRequestsTransaction) {
  const ConnectionId id = replied();
  EXPECT_TRUE(manager.ready_to_use(id, now));
  ASSERT_EQ(port.sent.size(), 2u);
  const auto ready_message = port.sent[1].as<ReadyToUse>();
  EXPECT_EQ(ready_message.header.attribute.get(), communication::kReadyToUse);
  EXPECT_EQ(ready_message.header.transaction.get(), port.sent[0].header().transaction.get());
  EXPECT_EQ(ready_message.local_id.get(), number(id));
  EXPECT_EQ(ready_message.remote_id.get(), kTheirId);
  EXPECT_FALSE(manager.ready_to_use(id, now));
  EXPECT_EQ(manager.next_deadline(), kNever);
}

TEST_F(CommunicationManagerTest, ReadyToUseIsSentAgainForARepeatedReply) {
  const ConnectionId id = ready();
  const auto again = reply_of_peer(kTheirId, number(id), kTheirQp);
  now += milliseconds(100);
  hear(again);
  EXPECT_EQ(sent(communication::kReadyToUse), 2u);
  EXPECT_TRUE(events.events.empty());
  // A flood is not answered with a flood.
  for (int i = 0; i < 100; ++i) hear(again);
  EXPECT_EQ(sent(communication::kReadyToUse), 2u);
}

TEST_F(CommunicationManagerTest, ARepeatedReplyBeforeTheCallersWordIsNotAnswered) {
  const ConnectionId id = replied();
  hear(reply_of_peer(kTheirId, number(id), kTheirQp));
  EXPECT_EQ(port.sent.size(), 1u);
  EXPECT_TRUE(events.events.empty());
  EXPECT_EQ(manager.counters().duplicates.value(), 1u);
}

TEST_F(CommunicationManagerTest, AnotherReplyDoesNotReplaceTheFirst) {
  const ConnectionId id = ready();
  now += seconds(1);
  hear(reply_of_peer(kTheirId + 1, number(id), kTheirQp));
  hear(reply_of_peer(kTheirId, number(id), kTheirQp + 1));
  EXPECT_EQ(manager.counters().wrong_names.value(), 2u);
  EXPECT_EQ(sent(communication::kReadyToUse), 1u);
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationManagerTest, AFullPortDelaysReadyToUse) {
  const ConnectionId id = replied();
  port.room = 0;
  EXPECT_TRUE(manager.ready_to_use(id, now));
  pass(milliseconds(50));
  port.room = 10;
  pass(seconds(60));
  EXPECT_EQ(sent(communication::kReadyToUse), 1u);
}

TEST_F(CommunicationManagerTest, APortThatStaysFullIsNotTriedForEver) {
  const ConnectionId id = replied();
  port.room = 0;
  EXPECT_TRUE(manager.ready_to_use(id, now));
  pass(seconds(60));
  EXPECT_EQ(manager.next_deadline(), kNever);
  // The connection is there: the peer's first data or its next reply will show.
  EXPECT_EQ(manager.size(), 1u);
}

TEST_F(CommunicationManagerTest, AReplyWithAnImpossibleQueuePairIsPassedOver) {
  const ConnectionId id = connect();
  for (const std::uint32_t qp : {0U, 1U, 0xFF'FFFFU}) hear(reply_of_peer(1, number(id), qp));
  EXPECT_EQ(manager.counters().impossible_values.value(), 3u);
  EXPECT_TRUE(events.events.empty());
  hear(reply_of_peer(kTheirId, number(id), 2));
  EXPECT_EQ(events.take().kind, Kind::kReply);
}

TEST_F(CommunicationManagerTest, RejectsAReply) {
  const ConnectionId id = replied();
  const std::vector<std::byte> data(200, std::byte{7});
  EXPECT_TRUE(manager.reject(id, reject_reason::kConsumer, data, now));
  const auto reject = port.sent.back().as<ConnectionReject>();
  EXPECT_EQ(reject.reason.get(), reject_reason::kConsumer);
  EXPECT_EQ(reject.answered(), AnsweredMessage::kReply);
  EXPECT_EQ(reject.local_id.get(), number(id));
  EXPECT_EQ(reject.remote_id.get(), kTheirId);
  EXPECT_EQ(reject.private_data.back(), std::byte{7});
  EXPECT_EQ(manager.size(), 0u);
  EXPECT_TRUE(events.events.empty());
  EXPECT_FALSE(manager.reject(id, reject_reason::kConsumer, data, now));
}

TEST_F(CommunicationManagerTest, OrdersForWhatIsNotThere) {
  const ConnectionId id = connect();
  EXPECT_FALSE(manager.ready_to_use(id, now));
  EXPECT_FALSE(manager.reject(id, 1, {}, now));
  EXPECT_FALSE(manager.ready_to_use(ConnectionId::kNone, now));
  EXPECT_FALSE(manager.disconnect(ConnectionId::kNone, now));
  manager.forget(ConnectionId::kNone, now);
  EXPECT_EQ(manager.size(), 1u);
}

// ---- More time ----

TEST_F(CommunicationManagerTest, APeerMayAskForMoreTime) {
  const ConnectionId id = connect();
  hear(wait_of_peer(0, number(id), 21));  // 8.6 s
  pass(seconds(9));
  EXPECT_EQ(port.sent.size(), 1u);
  pass(seconds(1));
  EXPECT_EQ(port.sent.size(), 2u);
  EXPECT_EQ(manager.counters().waits.value(), 1u);
}

TEST_F(CommunicationManagerTest, ThePatienceHasAnEnd) {
  connect();
  const ConnectionId id{port.sent[0].as<ConnectionRequest>().local_id.get()};
  for (int i = 0; i < 29; ++i) {
    hear(wait_of_peer(0, number(id), 31));
    pass(seconds(1));
  }
  EXPECT_TRUE(events.events.empty());
  pass(seconds(1));
  EXPECT_EQ(events.take().kind, Kind::kTimedOut);
  EXPECT_EQ(sent(communication::kRequest), 1u);
}

TEST_F(CommunicationManagerTest, MoreTimeForAnotherMessageIsNotGiven) {
  const ConnectionId id = connect();
  hear(wait_of_peer(0, number(id), 31, AnsweredMessage::kReply));
  hear(wait_of_peer(0, number(id), 31), gid_of(9));
  pass(seconds(2));
  EXPECT_EQ(port.sent.size(), 2u);
  const ConnectionId other = ready();
  hear(wait_of_peer(kTheirId, number(other), 31));
  EXPECT_EQ(manager.counters().wrong_states.value(), 2u);
  EXPECT_EQ(manager.counters().waits.value(), 0u);
}

// ---- Rejections ----

TEST_F(CommunicationManagerTest, ARejectedRequest) {
  const ConnectionId id = connect();
  ConnectionReject reject = reject_of_peer(0, number(id), reject_reason::kConsumer);
  reject.set_info_bytes(3);
  reject.info[2] = std::byte{5};
  reject.private_data[0] = std::byte{6};
  hear(reject);
  const auto event = events.take();
  EXPECT_EQ(event.kind, Kind::kRejected);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(event.reason, reject_reason::kConsumer);
  EXPECT_EQ(event.message, AnsweredMessage::kRequest);
  ASSERT_EQ(event.info.size(), 3u);
  EXPECT_EQ(event.info[2], std::byte{5});
  EXPECT_EQ(event.data[0], std::byte{6});
  EXPECT_EQ(manager.size(), 0u);
  EXPECT_EQ(manager.next_deadline(), kNever);
}

TEST_F(CommunicationManagerTest, InformationBeyondTheMessageIsNotTold) {
  const ConnectionId id = connect();
  ConnectionReject reject = reject_of_peer(0, number(id), reject_reason::kInvalidGid);
  reject.info_length = 0xFF;
  hear(reject);
  EXPECT_EQ(events.take().info.size(), 72u);
}

// What Linux says of a request of a connection that it still remembers.
TEST_F(CommunicationManagerTest, AStaleRequest) {
  const ConnectionId id = connect();
  hear(reject_of_peer(7, number(id), reject_reason::kStaleConnection, AnsweredMessage::kOther));
  EXPECT_EQ(events.take().reason, reject_reason::kStaleConnection);
}

TEST_F(CommunicationManagerTest, ARejectionOfAReplyThatIsNotThereIsPassedOver) {
  const ConnectionId id = connect();
  hear(reject_of_peer(7, number(id), 10, AnsweredMessage::kReply));
  hear(reject_of_peer(7, number(id), 10, AnsweredMessage::kReserved));
  EXPECT_EQ(manager.counters().wrong_states.value(), 2u);
  EXPECT_EQ(manager.size(), 1u);
}

TEST_F(CommunicationManagerTest, AReadyConnectionMayBeRejected) {
  const ConnectionId id = ready();
  // A late answer to a repeated request is no end.
  hear(reject_of_peer(0, number(id), reject_reason::kStaleConnection));
  EXPECT_EQ(manager.counters().wrong_names.value(), 1u);
  EXPECT_EQ(manager.size(), 1u);
  hear(reject_of_peer(kTheirId, number(id), reject_reason::kStaleConnection,
                      AnsweredMessage::kOther));
  EXPECT_EQ(events.take().kind, Kind::kRejected);
  EXPECT_EQ(manager.size(), 0u);
}

}  // namespace
}  // namespace paravane::connection
