#include "host_verbs/datagram_endpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/service_rig.h"
#include "testing/verbs_requests.h"

namespace paravane::host_verbs {
namespace {

using fake::ServiceRig;

constexpr std::uint32_t kQkey = 0x8001'0000;

// The VM's queue pair 1 is the peer.
class DatagramEndpointTest : public testing::Test {
 protected:
  DatagramEndpointTest() {
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.qkey = kQkey;
    EXPECT_TRUE(fake::bring_up(*peer_->qp, verbs::QpState::kReadyToSend, attributes));
  }
  // The endpoint goes before the adapter.
  ~DatagramEndpointTest() override { endpoint_.reset(); }

  void peer_sends(std::uint64_t bytes, std::uint32_t qkey = kQkey, fake::EngineQp* by = nullptr) {
    verbs::SendRequest request = fake::send_request(1, {buffer_.sge(0, bytes)});
    request.remote_qpn = 1;
    request.remote_qkey = qkey;
    request.av.dgid = rig_.service().gid();
    (by == nullptr ? *peer_ : *by).post(request);
    ASSERT_TRUE(rig_.run());
  }
  std::vector<std::vector<std::byte>> heard(std::size_t limit = 1000) {
    std::vector<std::vector<std::byte>> mads;
    endpoint_->deliver(limit, [&](const verbs::Gid& from, std::span<const std::byte, 256> mad) {
      EXPECT_EQ(from, rig_.a().gid());
      mads.emplace_back(mad.begin(), mad.end());
    });
    return mads;
  }

  ServiceRig rig_;
  std::unique_ptr<fake::EngineQp> peer_ =
      rig_.a().queue_pair(verbs::QpType::kGeneralServices, false, 1);
  fake::EngineBuffer buffer_ = rig_.a().buffer(8192);
  std::unique_ptr<DatagramEndpoint> endpoint_ =
      ServiceRig::take(DatagramEndpoint::make(rig_.service(), rig_.now()));
};

TEST_F(DatagramEndpointTest, ADatagramArrivesWithItsSender) {
  rig_.a().fill(buffer_, 4);
  peer_sends(256);
  const auto mads = heard();
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0], rig_.a().read(buffer_, 0, 256));
  EXPECT_TRUE(heard().empty());
}

TEST_F(DatagramEndpointTest, ADatagramReachesThePeer) {
  peer_->post(fake::receive_request(7, {buffer_.whole()}));
  Mad mad{};
  mad.fill(std::byte{0x5A});
  ASSERT_TRUE(endpoint_->send(rig_.a().gid(), mad));
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(peer_->receives.size(), 1u);
  EXPECT_EQ(peer_->receives.at(0).byte_len, 40u + 256);
  EXPECT_EQ(peer_->receives.at(0).source_qpn, 1u);
  EXPECT_TRUE(std::ranges::equal(rig_.a().read(buffer_, 40, 256), mad));
}

TEST_F(DatagramEndpointTest, OddDatagramsAreDropped) {
  peer_sends(255);
  EXPECT_TRUE(heard().empty());
  auto other = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  verbs::QpAttributes attributes = fake::default_attributes();
  attributes.qkey = kQkey;
  ASSERT_TRUE(fake::bring_up(*other->qp, verbs::QpState::kReadyToSend, attributes));
  peer_sends(256, kQkey, other.get());
  EXPECT_TRUE(heard().empty());
  EXPECT_EQ(endpoint_->counters().odd.value(), 2u);
  peer_sends(256, 0x1111);  // refused by the engine
  EXPECT_TRUE(heard().empty());
  peer_sends(256);
  EXPECT_EQ(heard().size(), 1u);
}

TEST_F(DatagramEndpointTest, AFloodIsDroppedAndReceivesComeBack) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < DatagramEndpoint::kReceives + 20; ++i) peer_sends(256);
    EXPECT_EQ(heard(10).size(), 10u);
    EXPECT_EQ(heard().size(), DatagramEndpoint::kReceives - 10);
  }
}

TEST_F(DatagramEndpointTest, SendsAreBoundedAndPlacesComeBack) {
  Mad mad{};
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < DatagramEndpoint::kSends; ++i) {
      EXPECT_TRUE(endpoint_->send(rig_.a().gid(), mad));
    }
    EXPECT_FALSE(endpoint_->send(rig_.a().gid(), mad));
    ASSERT_TRUE(rig_.run());
    heard();
  }
  EXPECT_EQ(endpoint_->counters().full.value(), 3u);
}

TEST_F(DatagramEndpointTest, ItsPlacesComeBack) {
  const std::size_t before = rig_.memory().messages().free();
  endpoint_.reset();
  EXPECT_EQ(rig_.memory().messages().free(),
            before + DatagramEndpoint::kReceives + DatagramEndpoint::kSends);
}

}  // namespace
}  // namespace paravane::host_verbs
