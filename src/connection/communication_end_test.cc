// How connections of a CommunicationManager end.

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "connection/communication_manager.h"
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

class CommunicationEndTest : public testing::Test, protected ManagerRig {
 protected:
  std::size_t sent(std::uint16_t attribute) const { return port.count(attribute); }
  DisconnectReply agreement(ConnectionId id, std::uint32_t theirs = kTheirId) {
    return peers_message<DisconnectReply>(communication::kDisconnectReply, theirs, number(id));
  }
};

// ---- Disconnecting ----

TEST_F(CommunicationEndTest, Disconnects) {
  const ConnectionId id = ready();
  EXPECT_TRUE(manager.disconnect(id, now));
  EXPECT_FALSE(manager.disconnect(id, now));
  const auto request = port.sent.back().as<DisconnectRequest>();
  EXPECT_EQ(request.header.attribute.get(), communication::kDisconnectRequest);
  EXPECT_NE(request.header.transaction.get(), port.sent[0].header().transaction.get());
  EXPECT_EQ(request.remote_qp_number(), kTheirQp);
  EXPECT_EQ(request.local_id.get(), number(id));
  EXPECT_EQ(request.remote_id.get(), kTheirId);
  pass(seconds(2));
  EXPECT_EQ(sent(communication::kDisconnectRequest), 2u);
  hear(agreement(id));
  const auto event = events.take();
  EXPECT_EQ(event.kind, Kind::kDisconnected);
  EXPECT_EQ(event.ending, Ending::kByUs);
  EXPECT_EQ(manager.size(), 0u);
  EXPECT_EQ(manager.next_deadline(), kNever);
}

TEST_F(CommunicationEndTest, AReplyIsEnoughToDisconnect) {
  const ConnectionId id = replied();
  EXPECT_TRUE(manager.disconnect(id, now));
  EXPECT_EQ(sent(communication::kDisconnectRequest), 1u);
}

TEST_F(CommunicationEndTest, DisconnectingNeedsNoAnswer) {
  const ConnectionId id = ready();
  manager.disconnect(id, now);
  pass(seconds(5));
  EXPECT_TRUE(events.events.empty());
  pass(seconds(1));
  EXPECT_EQ(events.take().ending, Ending::kNoAnswer);
  EXPECT_EQ(sent(communication::kDisconnectRequest), CommunicationManager::kDisconnectTries);
  EXPECT_EQ(manager.counters().disconnects_unanswered.value(), 1u);
}

TEST_F(CommunicationEndTest, APeerThatForgotTheConnectionAgrees) {
  const ConnectionId id = ready();
  manager.disconnect(id, now);
  hear(reject_of_peer(kTheirId, number(id), reject_reason::kInvalidCommunicationId,
                      AnsweredMessage::kOther));
  EXPECT_EQ(events.take().ending, Ending::kByUs);
  EXPECT_EQ(manager.counters().rejections.value(), 0u);
}

TEST_F(CommunicationEndTest, AnAgreementThatWasNotAskedForIsPassedOver) {
  const ConnectionId id = ready();
  hear(agreement(id));
  EXPECT_EQ(manager.counters().wrong_states.value(), 1u);
  manager.disconnect(id, now);
  hear(agreement(id, kTheirId + 1));
  EXPECT_EQ(manager.counters().wrong_names.value(), 1u);
  hear(agreement(id, kTheirId), gid_of(9));
  EXPECT_EQ(manager.counters().foreign_senders.value(), 1u);
  EXPECT_EQ(manager.size(), 1u);
}

TEST_F(CommunicationEndTest, ThePeerDisconnects) {
  const ConnectionId id = ready();
  auto request = disconnect_of_peer(kTheirId, number(id), kOurQp);
  request.header.transaction.set(0x99);
  hear(request);
  const auto event = events.take();
  EXPECT_EQ(event.ending, Ending::kByPeer);
  const auto reply = port.sent.back().as<DisconnectReply>();
  EXPECT_EQ(reply.header.attribute.get(), communication::kDisconnectReply);
  EXPECT_EQ(reply.header.transaction.get(), 0x99u);
  EXPECT_EQ(reply.local_id.get(), number(id));
  EXPECT_EQ(reply.remote_id.get(), kTheirId);
  EXPECT_EQ(manager.size(), 0u);
}

TEST_F(CommunicationEndTest, ADisconnectionMustNameTheConnection) {
  const ConnectionId id = ready();
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp + 1));
  hear(disconnect_of_peer(kTheirId + 1, number(id), kOurQp));
  EXPECT_EQ(manager.counters().wrong_names.value(), 2u);
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp), gid_of(9));
  EXPECT_EQ(manager.counters().foreign_senders.value(), 1u);
  const ConnectionId asked = connect();
  hear(disconnect_of_peer(0, number(asked), kOurQp));
  EXPECT_EQ(manager.counters().wrong_states.value(), 1u);
  EXPECT_EQ(manager.size(), 2u);
  EXPECT_EQ(sent(communication::kDisconnectReply), 0u);
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationEndTest, BothDisconnectAtOnce) {
  const ConnectionId id = ready();
  manager.disconnect(id, now);
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp));
  EXPECT_EQ(sent(communication::kDisconnectReply), 1u);
  EXPECT_EQ(events.take().ending, Ending::kByUs);
  EXPECT_EQ(manager.size(), 0u);
}

// ---- Forgetting ----

TEST_F(CommunicationEndTest, ForgettingIsSilent) {
  const ConnectionId asked = connect();
  manager.forget(asked, now);
  // The peer may be at work on it.
  EXPECT_EQ(port.sent.back().as<ConnectionReject>().reason.get(), reject_reason::kTimeout);
  const ConnectionId other = ready();
  const std::size_t before = port.sent.size();
  manager.forget(other, now);
  EXPECT_EQ(port.sent.size(), before);
  pass(seconds(60));
  EXPECT_TRUE(events.events.empty());
  EXPECT_EQ(manager.size(), 0u);
}

TEST_F(CommunicationEndTest, DisconnectingWithoutAReplyIsForgetting) {
  const ConnectionId id = connect();
  EXPECT_TRUE(manager.disconnect(id, now));
  EXPECT_EQ(manager.size(), 0u);
  pass(seconds(60));
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationEndTest, EventsMayCallTheManager) {
  events.then = [this](const auto& event) {
    if (event.kind == Kind::kReply) manager.ready_to_use(event.id, now);
    if (event.kind == Kind::kTimedOut) connect();
    if (event.kind == Kind::kDisconnected) manager.forget(event.id, now);
  };
  const ConnectionId id = connect();
  hear(reply_of_peer(kTheirId, number(id), kTheirQp));
  EXPECT_EQ(sent(communication::kReadyToUse), 1u);
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp));
  EXPECT_EQ(manager.size(), 0u);
  connect();
  pass(seconds(20));
  EXPECT_EQ(manager.size(), 1u);
}

}  // namespace
}  // namespace paravane::connection
