// Long MADs of a port's agents; their rules are tested with SegmentTable.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "subnet/mad_layer.h"
#include "subnet/mad_layer_test.h"
#include "subnet/segment_test.h"
#include "testing/port_orders.h"
#include "wire/roce/header_at.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;

// A MAD that says it is to be sent in segments.
std::vector<std::byte> long_request(std::uint64_t transaction) {
  std::vector<std::byte> mad =
      long_mad(5000, {.transaction = transaction, .method = method::kGetTable});
  auto segments = wire::roce::header_at<wire::infiniband::SegmentHeader>(
      mad, wire::infiniband::kSegmentHeaderAt);
  segments.version = wire::infiniband::kSegmentVersion;
  segments.type = wire::infiniband::SegmentType::kData;
  segments.set_flags(wire::infiniband::kSegmentActive);
  std::memcpy(mad.data() + wire::infiniband::kSegmentHeaderAt, &segments, sizeof segments);
  return mad;
}

TEST_F(MadLayerTest, ALongMadIsRefusedWhileThePortDoesNotSend) {
  AgentWish wish = wish_for(management_class::kSubnetAdministration, {});
  wish.class_version = 2;
  wish.joins_segments = true;
  const AgentId agent = registered(wish);
  const MadAddress to{.lid = kPeerLid, .qp = 1};
  port_.link_down();
  const auto refused = layer_.send(agent, to, long_request(1), 1s, 0, clock_.now);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), SendRefusal::kNotActive);
  EXPECT_EQ(layer_.next_deadline(), kNever);
  ASSERT_TRUE(fake::set_port_active(port_));
  EXPECT_TRUE(layer_.send(agent, to, long_request(1), 1s, 0, clock_.now).has_value());
}

// Agents of one program share its bytes.
TEST_F(MadLayerTest, BytesOfLongMadsAreThoseOfAProgram) {
  AgentWish wish = wish_for(management_class::kSubnetAdministration, {});
  wish.class_version = 2;
  wish.joins_segments = true;
  const AgentId first = registered(wish);
  const AgentId second = registered(wish);
  HeardMads stranger;
  const AgentId other = layer_.register_agent(wish, stranger).value();
  constexpr std::size_t kMegabyte = 1'000'000;
  const auto send = [&](AgentId agent, std::uint16_t lid, std::uint64_t transaction) {
    std::vector<std::byte> mad = long_request(transaction);
    mad.resize(kMegabyte);
    const auto sent = layer_.send(agent, {.lid = lid, .qp = 1}, mad, {}, 0, clock_.now);
    return sent ? std::nullopt : std::optional(sent.error());
  };
  const std::size_t room = SegmentLimits{}.bytes_of_program / kMegabyte;
  for (std::size_t i = 0; i < room; ++i) {
    const auto lid = static_cast<std::uint16_t>(0x100 + i);
    EXPECT_TRUE(send(i % 2 == 0 ? first : second, lid, i) == std::nullopt);
  }
  EXPECT_EQ(send(first, 0x200, 100), SendRefusal::kNoRoom);
  EXPECT_EQ(send(second, 0x200, 101), SendRefusal::kNoRoom);
  EXPECT_EQ(send(other, 0x200, 102), std::nullopt);
  layer_.unregister(first);
  EXPECT_EQ(send(second, 0x200, 103), std::nullopt);
}

TEST_F(MadLayerTest, ALongMadThatIsRefusedIsNotWaitedFor) {
  AgentWish wish = wish_for(management_class::kSubnetAdministration, {});
  wish.class_version = 2;
  wish.joins_segments = true;
  const AgentId agent = registered(wish);
  const MadAddress to{.lid = kPeerLid, .qp = 1};
  std::size_t sent = 0;
  while (sent < 200 &&
         layer_.send(agent, to, long_request(sent + 1), 1s, 0, clock_.now).has_value())
    ++sent;
  ASSERT_LT(sent, 200u);
  // Each time tells a part of them.
  for (unsigned turn = 0; turn < 10; ++turn) layer_.on_time(clock_.now + 2s);
  EXPECT_EQ(agent_.unanswered.size(), sent);
}

TEST_F(MadLayerTest, AnAgentThatHasThemJoinedSendsAndGetsLongMads) {
  AgentWish wish = wish_for(management_class::kSubnetAdministration, {method::kGetTable});
  wish.class_version = 2;
  wish.joins_segments = true;
  const AgentId agent = registered(wish);
  fake::BareNode peer_node(wire::infiniband::NodeType::kChannelAdapter, 1);
  SentMads from_peer_layer;
  HeardMads peer_agent;
  MadLayer peer(peer_node, *peer_node.port(1), from_peer_layer, clock_);
  ASSERT_TRUE(peer.register_agent(wish, peer_agent).has_value());

  const std::vector<std::byte> mad = long_request(1);
  ASSERT_TRUE(layer_.send(agent, {.lid = kPeerLid, .qp = 1}, mad, 1s, 0, clock_.now).has_value());
  for (int round = 0; round < 100 && !(outlet_.sent.empty() && from_peer_layer.sent.empty());
       ++round) {
    for (const SentMads::One& one : std::exchange(outlet_.sent, {}))
      peer.on_service_packet(
          {.headers = fake::service_headers(0x20, kPeerLid), .payload = fake::mad_bytes(one.mad)});
    for (const SentMads::One& one : std::exchange(from_peer_layer.sent, {})) arrive(one.mad);
  }
  ASSERT_EQ(peer_agent.heard.size(), 1u);
  EXPECT_EQ(peer_agent.heard[0].mad.size(), mad.size());
  EXPECT_TRUE(std::equal(mad.begin() + 56, mad.end(), peer_agent.heard[0].mad.begin() + 56));
}

}  // namespace
}  // namespace paravane::subnet
