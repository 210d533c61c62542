// What comes to a CommunicationManager from strangers, too late, or with wrong names.

#include <gtest/gtest.h>

#include <chrono>

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
using std::chrono::seconds;
using wire::infiniband::AnsweredMessage;
using wire::infiniband::ConnectionReject;
using wire::infiniband::ConnectionRequest;
using wire::infiniband::DisconnectReply;
using wire::infiniband::ReadyToUse;

class CommunicationLateTest : public testing::Test, protected ManagerRig {
 protected:
  std::size_t sent(std::uint16_t attribute) const { return port.count(attribute); }
  ConnectionRequest strangers_request() {
    ConnectionRequest request;
    request.header = peers_message<ReadyToUse>(communication::kRequest, 0, 0).header;
    request.local_id.set(0x77);
    return request;
  }
};

// ---- Strangers ----

TEST_F(CommunicationLateTest, NothingListensHere) {
  hear(strangers_request(), gid_of(9));
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(port.sent[0].to, gid_of(9));
  const auto reject = port.sent[0].as<ConnectionReject>();
  EXPECT_EQ(reject.reason.get(), reject_reason::kInvalidServiceId);
  EXPECT_EQ(reject.answered(), AnsweredMessage::kRequest);
  EXPECT_EQ(reject.remote_id.get(), 0x77u);
  EXPECT_EQ(reject.local_id.get(), 0u);
  EXPECT_EQ(reject.header.transaction.get(), 0x7777u);
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationLateTest, AFloodOfRequestsIsNotAnsweredWithAFlood) {
  for (unsigned i = 0; i < 1000; ++i)
    hear(strangers_request(), gid_of(static_cast<std::uint8_t>(i)));
  EXPECT_EQ(port.sent.size(), CommunicationManager::kMostAnswersToStrangers);
  EXPECT_EQ(manager.counters().unanswered_floods.value(),
            1000u - CommunicationManager::kMostAnswersToStrangers);
  now += seconds(1);
  hear(strangers_request());
  EXPECT_EQ(port.sent.size(), CommunicationManager::kMostAnswersToStrangers + 1);
}

TEST_F(CommunicationLateTest, OnlyThePeerIsHeard) {
  const ConnectionId id = connect();
  const auto stranger = gid_of(9);
  hear(reply_of_peer(kTheirId, number(id), kTheirQp), stranger);
  hear(reject_of_peer(0, number(id), 8), stranger);
  hear(wait_of_peer(0, number(id), 31), stranger);
  hear(disconnect_of_peer(0, number(id), kOurQp), stranger);
  EXPECT_EQ(manager.counters().foreign_senders.value(), 4u);
  EXPECT_TRUE(events.events.empty());
  EXPECT_EQ(port.sent.size(), 1u);
}

TEST_F(CommunicationLateTest, UnknownConnectionsAreNotAnswered) {
  const std::uint32_t unknown = number(connect()) + 1;
  hear(reply_of_peer(kTheirId, unknown, kTheirQp));
  hear(reject_of_peer(0, unknown, 8));
  hear(wait_of_peer(0, unknown, 31));
  hear(peers_message<DisconnectReply>(communication::kDisconnectReply, kTheirId, unknown));
  hear(peers_message<ReadyToUse>(communication::kReadyToUse, kTheirId, unknown));
  EXPECT_EQ(manager.counters().unknown_connections.value(), 5u);
  EXPECT_EQ(port.sent.size(), 1u);
  EXPECT_TRUE(events.events.empty());
}

// One of an earlier run: Linux would call a new one of the same queue pair stale.
TEST_F(CommunicationLateTest, PeersOfUnknownConnectionsAreLetGo) {
  const std::uint32_t unknown = number(connect()) + 1;
  hear(disconnect_of_peer(kTheirId, unknown, kOurQp), gid_of(9));
  ASSERT_EQ(sent(communication::kDisconnectReply), 1u);
  EXPECT_EQ(port.sent.back().to, gid_of(9));
  const auto reply = port.sent.back().as<DisconnectReply>();
  EXPECT_EQ(reply.local_id.get(), unknown);
  EXPECT_EQ(reply.remote_id.get(), kTheirId);
  for (int i = 0; i < 1000; ++i) hear(disconnect_of_peer(kTheirId, unknown, kOurQp));
  EXPECT_EQ(sent(communication::kDisconnectReply), CommunicationManager::kMostAnswersToStrangers);
  EXPECT_EQ(manager.size(), 1u);
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationLateTest, OtherHeadersArePassedOver) {
  const ConnectionId id = connect();
  const auto good = reply_of_peer(kTheirId, number(id), kTheirQp);
  const auto hear_changed = [&](auto change) {
    auto reply = good;
    change(reply.header);
    hear(reply);
  };
  hear_changed([](auto& header) { header.base_version = 0x80; });
  hear_changed([](auto& header) { header.management_class = 6; });
  hear_changed([](auto& header) { header.class_version = 1; });
  hear_changed([](auto& header) { header.method = 0x81; });
  hear_changed([](auto& header) { header.attribute.set(0x17); });
  hear_changed([](auto& header) { header.attribute.set(0x1013); });
  EXPECT_EQ(manager.counters().bad_headers.value(), 6u);
  EXPECT_TRUE(events.events.empty());
}

// ---- Late ----

TEST_F(CommunicationLateTest, ARepeatedDisconnectionIsAnsweredAgain) {
  const ConnectionId id = ready();
  const auto request = disconnect_of_peer(kTheirId, number(id), kOurQp);
  hear(request);
  events.events.clear();
  now += seconds(15);
  hear(request);
  EXPECT_EQ(sent(communication::kDisconnectReply), 2u);
  EXPECT_EQ(port.sent.back().as<DisconnectReply>().remote_id.get(), kTheirId);
  EXPECT_TRUE(events.events.empty());
  // Not with wrong names.
  hear(disconnect_of_peer(kTheirId + 1, number(id), kOurQp));
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp + 1));
  hear(request, gid_of(9));
  EXPECT_EQ(sent(communication::kDisconnectReply), 2u);
  EXPECT_EQ(manager.remembered(), 1u);
  // Not for ever.
  now += seconds(15);
  hear(reply_of_peer(kTheirId, number(id), kTheirQp));
  EXPECT_EQ(manager.remembered(), 0u);
}

TEST_F(CommunicationLateTest, ALateDisconnectionOfAConnectionWithoutAReply) {
  const ConnectionId id = connect();
  manager.forget(id, now);
  hear(disconnect_of_peer(0, number(id), kOurQp));
  EXPECT_EQ(sent(communication::kDisconnectReply), 0u);
}

// The peer would wait for RTU otherwise.
TEST_F(CommunicationLateTest, ALateReplyIsRejected) {
  const ConnectionId id = connect();
  pass(seconds(20));
  EXPECT_EQ(events.take().kind, Kind::kTimedOut);
  hear(reply_of_peer(kTheirId, number(id), kTheirQp));
  const auto reject = port.sent.back().as<ConnectionReject>();
  EXPECT_EQ(reject.reason.get(), reject_reason::kInvalidCommunicationId);
  EXPECT_EQ(reject.answered(), AnsweredMessage::kReply);
  EXPECT_EQ(reject.local_id.get(), number(id));
  EXPECT_EQ(reject.remote_id.get(), kTheirId);
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationLateTest, ALateReplyMustBeThePeers) {
  const ConnectionId id = ready();
  manager.forget(id, now);
  const std::size_t before = port.sent.size();
  hear(reply_of_peer(kTheirId, number(id), kTheirQp), gid_of(9));
  hear(reply_of_peer(kTheirId + 1, number(id), kTheirQp));
  EXPECT_EQ(port.sent.size(), before);
  hear(reply_of_peer(kTheirId, number(id), kTheirQp));
  EXPECT_EQ(port.sent.size(), before + 1);
}

TEST_F(CommunicationLateTest, AFloodOfLateMessagesIsNotAnsweredWithAFlood) {
  const ConnectionId id = ready();
  const auto request = disconnect_of_peer(kTheirId, number(id), kOurQp);
  for (int i = 0; i < 1000; ++i) hear(request);
  EXPECT_EQ(sent(communication::kDisconnectReply), 1 + CommunicationManager::kMostAnswersToLate);
}

TEST_F(CommunicationLateTest, EndedConnectionsTellOfNothing) {
  const ConnectionId id = ready();
  hear(disconnect_of_peer(kTheirId, number(id), kOurQp));
  events.events.clear();
  hear(reject_of_peer(kTheirId, number(id), 10, AnsweredMessage::kOther));
  hear(wait_of_peer(kTheirId, number(id), 31));
  hear(peers_message<DisconnectReply>(communication::kDisconnectReply, kTheirId, number(id)));
  pass(seconds(60));
  EXPECT_TRUE(events.events.empty());
}

TEST_F(CommunicationLateTest, EndedConnectionsAreBounded) {
  for (std::size_t i = 0; i < 2 * EndedConnections::kMost; ++i) manager.forget(connect(), now);
  EXPECT_EQ(manager.remembered(), EndedConnections::kMost);
}

}  // namespace
}  // namespace paravane::connection
