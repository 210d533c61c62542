// What tests of MadLayer share: an agent that keeps what it hears, an outlet that keeps what is
// sent, and a layer at a port with both.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "subnet/mad_layer.h"
#include "testing/bare_node.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {

inline constexpr std::uint16_t kPeerLid = 0x31;
inline constexpr std::uint8_t kVendorClass = 0x32;

inline AgentWish wish_for(std::uint8_t a_class, std::initializer_list<std::uint8_t> methods = {},
                          std::uint32_t oui = 0) {
  AgentWish wish{.management_class = a_class, .class_version = 1, .oui = oui};
  for (const std::uint8_t one : methods) wish.methods[one / 64] |= std::uint64_t{1} << (one % 64);
  return wish;
}

class HeardMads : public MadAgent {
 public:
  struct One {
    AgentId agent;
    MadAddress address;
    std::vector<std::byte> mad;
    wire::infiniband::MadHeader header() const {
      wire::infiniband::MadHeader header;
      std::memcpy(&header, mad.data(), sizeof header);
      return header;
    }
  };
  void on_mad(AgentId agent, const MadAddress& from, std::span<const std::byte> mad) override {
    heard.push_back({agent, from, {mad.begin(), mad.end()}});
    if (then) then();
  }
  void on_no_answer(AgentId agent, const MadAddress& to, std::span<const std::byte> mad) override {
    unanswered.push_back({agent, to, {mad.begin(), mad.end()}});
    if (then) then();
  }
  std::vector<One> heard;
  std::vector<One> unanswered;
  std::function<void()> then;
};

class SentMads : public MadLayer::Outlet {
 public:
  struct One {
    wire::infiniband::DatagramHeaders headers;
    wire::infiniband::PerformancePacket mad;  // of whatever class
    fake::Smp smp() const { return std::bit_cast<fake::Smp>(mad); }
  };
  void send(const wire::infiniband::DatagramHeaders& headers,
            std::span<const std::byte, wire::infiniband::kMadBytes> mad) override {
    One one{.headers = headers, .mad = {}};
    std::memcpy(&one.mad, mad.data(), sizeof one.mad);
    sent.push_back(one);
  }
  void on_manager_change() override { ++manager_changes; }
  std::vector<One> sent;
  unsigned manager_changes = 0;
};

class MadLayerTest : public testing::Test {
 protected:
  MadLayerTest() {
    EXPECT_TRUE(fake::set_port_active(port_));
    wire::infiniband::PortInfo info = fake::wish_at(port_);
    info.lid.set(0x20);
    info.master_lid.set(kPeerLid);
    EXPECT_EQ(port_.set_info(info), 0);
  }

  AgentId registered(const AgentWish& wish) {
    const auto made = layer_.register_agent(wish, agent_);
    EXPECT_TRUE(made.has_value());
    return made.value_or(AgentId::kNone);
  }
  static wire::infiniband::PerformancePacket mad_with(std::uint8_t a_class, std::uint8_t a_method,
                                                      std::uint64_t transaction = 1) {
    wire::infiniband::PerformancePacket mad;
    mad.header.management_class = a_class;
    mad.header.method = a_method;
    mad.header.transaction.set(transaction);
    mad.data[5] = std::byte{77};
    return mad;
  }
  template <typename Mad>
  std::expected<void, SendRefusal> send(AgentId agent, const Mad& mad, Duration timeout = {},
                                        unsigned retries = 0, std::uint16_t lid = kPeerLid) {
    return layer_.send(agent, {.lid = lid, .qp = 1}, fake::mad_bytes(mad), timeout, retries,
                       clock_.now);
  }
  static wire::infiniband::DatagramHeaders from_peer() {
    return fake::service_headers(kPeerLid, 0x20);
  }
  template <typename Mad>
  void arrive(const Mad& mad, const wire::infiniband::DatagramHeaders& headers = from_peer()) {
    layer_.on_service_packet({.headers = headers, .payload = fake::mad_bytes(mad)});
  }
  void arrive_smp(const fake::Smp& smp) {
    layer_.on_subnet_packet({.headers = {.source = kPeerLid, .destination = 0x20, .lane = 15},
                             .payload = fake::mad_bytes(smp)});
  }
  // The last that was sent, as it comes back.
  wire::infiniband::PerformancePacket answer_to_last() const {
    wire::infiniband::PerformancePacket answer = outlet_.sent.back().mad;
    answer.header.method |= wire::infiniband::method::kResponse;
    return answer;
  }

  TurnClock clock_{Instant(std::chrono::hours(1))};
  fake::BareNode node_{wire::infiniband::NodeType::kChannelAdapter, 1};
  Port& port_ = *node_.port(1);
  SentMads outlet_;
  HeardMads agent_;
  MadLayer layer_{node_, port_, outlet_, clock_};
};

}  // namespace paravane::subnet
