#include "host_verbs/connection_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/service_rig.h"
#include "testing/verbs_requests.h"

namespace paravane::host_verbs {
namespace {

using fake::ServiceRig;
using testing::HasSubstr;

class ConnectionEndpointTest : public testing::Test {
 protected:
  ConnectionEndpointTest() {
    EXPECT_TRUE(endpoint_->connect(
        {.gid = rig_.a().gid(), .qpn = peer_->qp->number(), .max_reads = 4}, rig_.now()));
    ServiceRig::bring_up_to(*peer_, verbs::QpState::kReadyToSend, rig_.service().gid(),
                            endpoint_->number());
  }
  ~ConnectionEndpointTest() override { endpoint_.reset(); }

  std::vector<std::vector<std::byte>> heard(std::size_t limit = 1000) {
    std::vector<std::vector<std::byte>> messages;
    endpoint_->deliver(limit, [&](std::span<const std::byte> message) {
      messages.emplace_back(message.begin(), message.end());
    });
    return messages;
  }
  void peer_sends(std::uint64_t bytes) {
    peer_->post(fake::send_request(1, {buffer_.sge(0, bytes)}));
    ASSERT_TRUE(rig_.run());
  }

  ServiceRig rig_;
  std::unique_ptr<fake::EngineQp> peer_ = rig_.a().queue_pair();
  fake::EngineBuffer buffer_ = rig_.a().buffer(8192);
  std::unique_ptr<ConnectionEndpoint> endpoint_ = ServiceRig::take(
      ConnectionEndpoint::make(rig_.service(), {.sends = 4, .receives = 6}, rig_.now()));
};

TEST_F(ConnectionEndpointTest, MessagesGoBothWays) {
  rig_.a().fill(buffer_, 4);
  peer_sends(36);
  peer_sends(1024);
  const auto messages = heard();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0], rig_.a().read(buffer_, 0, 36));
  EXPECT_EQ(messages[1], rig_.a().read(buffer_, 0, 1024));
  peer_->post(fake::receive_request(7, {buffer_.whole()}));
  const std::vector<std::byte> message(48, std::byte{0x11});
  ASSERT_TRUE(endpoint_->send(message));
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(peer_->receives.size(), 1u);
  EXPECT_EQ(peer_->receives.at(0).byte_len, 48u);
  EXPECT_EQ(rig_.a().read(buffer_, 0, 48), message);
}

TEST_F(ConnectionEndpointTest, ReceivesComeBack) {
  for (int i = 0; i < 40; ++i) {
    peer_sends(16);
    EXPECT_EQ(heard().size(), 1u);
  }
}

TEST_F(ConnectionEndpointTest, SendsAreBoundedAndComeBack) {
  const std::vector<std::byte> message(16);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      peer_->post(fake::receive_request(7, {buffer_.whole()}));
      EXPECT_TRUE(endpoint_->send(message));
    }
    EXPECT_FALSE(endpoint_->send(message));
    ASSERT_TRUE(rig_.run());
    heard();
  }
  EXPECT_EQ(endpoint_->problem(), "");
}

TEST_F(ConnectionEndpointTest, ALongMessageBreaksIt) {
  peer_sends(1025);
  EXPECT_TRUE(heard().empty());
  EXPECT_NE(endpoint_->problem(), "");
  EXPECT_FALSE(endpoint_->send(std::vector<std::byte>(16)));
}

TEST_F(ConnectionEndpointTest, AWriteWithImmediateDataBreaksIt) {
  const std::uint32_t key =
      ServiceRig::take(rig_.service().lend(0, 8192, verbs::kAccessRemoteWrite));
  peer_->post(fake::with_imm(
      fake::write_request(1, {buffer_.whole()}, rig_.memory().payload(0).value, key), {}));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(heard().empty());
  EXPECT_THAT(endpoint_->problem(), HasSubstr("without a message"));
}

TEST_F(ConnectionEndpointTest, ARefusedAccessBreaksIt) {
  peer_->post(fake::write_request(1, {buffer_.whole()}, rig_.memory().payload(0).value, 0x77));
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(heard().empty());
  EXPECT_NE(endpoint_->problem(), "");
}

TEST_F(ConnectionEndpointTest, AfterItsEndNothingPasses) {
  const std::uint32_t key =
      ServiceRig::take(rig_.service().lend(0, 8192, verbs::kAccessRemoteWrite));
  peer_sends(16);
  endpoint_->end("enough", rig_.now());
  EXPECT_TRUE(heard().empty());
  EXPECT_EQ(endpoint_->problem(), "enough");
  peer_->post(fake::write_request(2, {buffer_.whole()}, rig_.memory().payload(0).value, key));
  rig_.advance(std::chrono::seconds(10));
  ASSERT_FALSE(peer_->sends.statuses().empty());
  EXPECT_NE(peer_->sends.statuses().back(), verbs::WcStatus::kSuccess);
}

// Keys follow one another, so a peer knows those of others.
TEST_F(ConnectionEndpointTest, APeerThatIsApartReachesNoLoanOfOthers) {
  std::unique_ptr<fake::EngineQp> peer = rig_.a().queue_pair();
  auto apart = ServiceRig::take(ConnectionEndpoint::make(
      rig_.service(), {.sends = 2, .receives = 2, .is_apart = true}, rig_.now()));
  ASSERT_TRUE(apart->connect({.gid = rig_.a().gid(), .qpn = peer->qp->number(), .max_reads = 4},
                             rig_.now()));
  ServiceRig::bring_up_to(*peer, verbs::QpState::kReadyToSend, rig_.service().gid(),
                          apart->number());
  const std::uint64_t place = rig_.memory().payload(0).value;
  const std::uint32_t own = ServiceRig::take(apart->lend(0, 8192, verbs::kAccessRemoteWrite));
  const std::uint32_t other =
      ServiceRig::take(rig_.service().lend(0, 8192, verbs::kAccessRemoteWrite));
  peer->post(fake::write_request(1, {buffer_.whole()}, place, own));
  peer->post(fake::write_request(2, {buffer_.whole()}, place, other));
  peer_->post(fake::write_request(3, {buffer_.whole()}, place, own));
  ASSERT_TRUE(rig_.run());
  using verbs::WcStatus;
  EXPECT_THAT(peer->sends.statuses(),
              testing::ElementsAre(WcStatus::kSuccess, WcStatus::kRemoteAccessError));
  EXPECT_THAT(peer_->sends.statuses(), testing::ElementsAre(WcStatus::kRemoteAccessError));
  apart.reset();
  EXPECT_EQ(rig_.service().adapter().regions().count(), 2U) << "the adapter's, and the other loan";
}

TEST_F(ConnectionEndpointTest, DomainsComeBack) {
  for (int i = 0; i < 300; ++i) {
    auto apart = ConnectionEndpoint::make(
        rig_.service(), {.sends = 1, .receives = 1, .is_apart = true}, rig_.now());
    ASSERT_TRUE(apart) << i;
    ASSERT_TRUE((*apart)->lend(0, 4096, verbs::kAccessRemoteRead));
  }
}

TEST_F(ConnectionEndpointTest, APeerThatIsGoneBreaksIt) {
  peer_->qp.reset();
  ASSERT_TRUE(endpoint_->send(std::vector<std::byte>(16)));
  rig_.advance(std::chrono::seconds(60));
  heard();
  EXPECT_THAT(endpoint_->problem(), HasSubstr("could not be sent"));
}

TEST_F(ConnectionEndpointTest, ItsPlacesComeBack) {
  const std::size_t before = rig_.memory().messages().free();
  endpoint_.reset();
  EXPECT_EQ(rig_.memory().messages().free(), before + 10);
}

}  // namespace
}  // namespace paravane::host_verbs
