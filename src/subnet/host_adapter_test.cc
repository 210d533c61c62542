#include "subnet/host_adapter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "subnet/host_adapter_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
using fake::get_of;
using fake::smp_packet;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortState;

class HeardNews : public PortUser {
 public:
  void on_port_change() override { ++changes; }
  void on_register_again() override { ++registers_again; }
  unsigned changes = 0;
  unsigned registers_again = 0;
};

class SeenPackets : public PacketObserver {
 public:
  void on_sent(std::span<const std::byte> packet) override {
    sent.emplace_back(packet.begin(), packet.end());
  }
  void on_received(std::span<const std::byte> packet) override {
    received.emplace_back(packet.begin(), packet.end());
  }
  std::vector<Packet> sent;
  std::vector<Packet> received;
};

// ---- What it is ----

TEST_F(HostAdapterTest, IsANodeWithPortsFromOne) {
  EXPECT_EQ(adapter_.name(), "mlx4_0");
  EXPECT_EQ(adapter_.ports(), 2);
  EXPECT_EQ(adapter_.port(0), nullptr);
  EXPECT_EQ(adapter_.port(3), nullptr);
  EXPECT_EQ(adapter_.port(1)->guid(), kAdapterGuid + 1);
  EXPECT_EQ(adapter_.port(2)->guid(), kAdapterGuid + 2);
  EXPECT_EQ(adapter_.identity().guid, kAdapterGuid);
  EXPECT_EQ(adapter_.identity().device_id, 7);
  EXPECT_EQ(adapter_.forwarding(), nullptr);
}

// ---- Data ----

TEST_F(HostAdapterTest, APacketReachesItsQueuePair) {
  arrive(data(to_pair(), 13));
  EXPECT_EQ(receiver_.pairs, (std::vector{pair_}));
  EXPECT_EQ(receiver_.payload.size(), 13u);
  EXPECT_EQ(receiver_.headers.source_qp, 0x77u);
  EXPECT_EQ(port_.totals().received_unicast, 1u);
}

TEST_F(HostAdapterTest, APortThatIsNotUpTakesNoData) {
  port_.link_down();
  arrive(data(to_pair()));
  port_.link_up(Speed::kQuad);
  arrive(data(to_pair()));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_EQ(port_.totals().receive_errors, 2u);
  ASSERT_TRUE(fake::order_port(port_, PortState::kArmed));
  arrive(data(to_pair()));
  EXPECT_EQ(receiver_.pairs.size(), 1u);
  EXPECT_TRUE(port_.is_active());
}

TEST_F(HostAdapterTest, WhatIsForAnotherIsCounted) {
  DatagramHeaders headers = to_pair();
  headers.destination = kAdapterLid + 1;
  arrive(data(headers));
  headers.destination = wire::infiniband::kPermissiveLid;
  arrive(data(headers));
  headers = to_pair();
  headers.destination_qp = pair_ + 1;
  arrive(data(headers));
  headers.destination_qp = 2;
  arrive(data(headers));
  headers.destination_qp = 0;  // subnet management has a lane of its own
  arrive(fake::packet_with(headers, fake::mad_bytes(get_of(attribute::kNodeInfo))));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_TRUE(end_.sent.empty());
  EXPECT_EQ(port_.totals().receive_errors, 5u);
  EXPECT_TRUE(traps().empty());
}

TEST_F(HostAdapterTest, WhatIsMalformedIsCounted) {
  arrive({});
  arrive(Packet(100));
  Packet packet = data(to_pair());
  packet.resize(packet.size() + 4);
  arrive(packet);
  EXPECT_EQ(port_.totals().receive_errors, 3u);
}

TEST_F(HostAdapterTest, AllLidsOfItsMaskAreItsOwn) {
  wire::infiniband::PortInfo wish = fake::wish_at(port_);
  wish.lid.set(0x20);
  wish.protection_lmc = 2;
  EXPECT_EQ(port_.set_info(wish), 0);
  DatagramHeaders headers = to_pair();
  for (const std::uint16_t lid : std::initializer_list<std::uint16_t>{0x20, 0x21, 0x23}) {
    headers.destination = lid;
    arrive(data(headers));
  }
  EXPECT_EQ(receiver_.pairs.size(), 3u);
  headers.destination = 0x24;
  arrive(data(headers));
  EXPECT_EQ(receiver_.pairs.size(), 3u);
}

TEST_F(HostAdapterTest, WhatIsAboveTheMtuOfTheLinkIsDropped) {
  wire::infiniband::PortInfo wish = fake::wish_at(port_);
  wish.mtu_master_level = 0x40;  // 2048
  ASSERT_EQ(port_.set_info(wish), 0);
  arrive(data(to_pair(), 2048));
  EXPECT_EQ(receiver_.pairs.size(), 1u);
  arrive(data(to_pair(), 2049));
  EXPECT_EQ(receiver_.pairs.size(), 1u);
  EXPECT_EQ(port_.totals().receive_errors, 1u);
  const DatagramHeaders out{.destination = kSenderLid, .destination_qp = 0x50};
  EXPECT_TRUE(adapter_.send(1, out, std::vector<std::byte>(2048)));
  EXPECT_FALSE(adapter_.send(1, out, std::vector<std::byte>(2049)));
  EXPECT_EQ(port_.totals().send_discards, 1u);
  EXPECT_EQ(end_.take().size(), 1u);
}

// ---- Multicast ----

TEST_F(HostAdapterTest, AGroupsPacketReachesItsMembers) {
  arrive(data(to_group()));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_EQ(port_.totals().receive_errors, 1u);
  adapter_.queue_pairs(1).attach(pair_, {.lid = kGroupLidHere, .gid = kGroupGid});
  arrive(data(to_group()));
  EXPECT_EQ(receiver_.pairs, (std::vector{pair_}));
  EXPECT_EQ(port_.totals().received_multicast, 2u);
}

TEST_F(HostAdapterTest, WhatItSendsToAGroupItsOwnMembersGetToo) {
  DatagramHeaders headers = to_group();
  EXPECT_TRUE(adapter_.send(1, headers, std::vector<std::byte>(8)));
  deliver_loops();
  EXPECT_EQ(end_.take().size(), 1u);
  EXPECT_TRUE(receiver_.pairs.empty());
  adapter_.queue_pairs(1).attach(pair_, {.lid = kGroupLidHere, .gid = kGroupGid});
  EXPECT_TRUE(adapter_.send(1, headers, std::vector<std::byte>(8)));
  EXPECT_TRUE(receiver_.pairs.empty());  // not within the call
  deliver_loops();
  EXPECT_EQ(end_.take().size(), 1u);
  EXPECT_EQ(receiver_.pairs, (std::vector{pair_}));
  EXPECT_EQ(port_.totals().sent_multicast, 2u);
}

// One packet would have as many answers as there are ports in the group.
TEST_F(HostAdapterTest, AGroupsPacketIsForNoQueuePairByNumber) {
  adapter_.queue_pairs(1).attach(pair_, {.lid = kGroupLidHere, .gid = kGroupGid});
  DatagramHeaders headers = fake::service_headers(kSenderLid, kGroupLidHere);
  const PerformancePacket question = counters_question();
  arrive(fake::packet_with(headers, fake::mad_bytes(question)));
  EXPECT_TRUE(end_.sent.empty());
  headers = to_group();
  headers.destination_qp = pair_;
  arrive(data(headers));
  EXPECT_TRUE(receiver_.pairs.empty());
  headers = to_group();
  headers.destination = kAdapterLid;  // and the other way round
  arrive(data(headers));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_EQ(port_.totals().receive_errors, 3u);
}

// ---- What it sends ----

TEST_F(HostAdapterTest, SendsWithItsOwnLidAndGid) {
  DatagramHeaders headers{.source = 0x99,
                          .destination = kSenderLid,
                          .global = wire::infiniband::GlobalRoute{.destination = {1}},
                          .qkey = 5,
                          .source_qp = pair_,
                          .destination_qp = 0x50};
  EXPECT_TRUE(adapter_.send(1, headers, std::vector<std::byte>(8)));
  ASSERT_EQ(end_.sent.size(), 1u);
  const auto read = wire::infiniband::read_datagram(end_.sent[0]);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->headers.source, kAdapterLid);
  const wire::infiniband::Gid gid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 1};
  EXPECT_EQ(read->headers.global->source, gid);
  EXPECT_EQ(port_.totals().sent_unicast, 1u);
  EXPECT_EQ(port_.totals().sent_bytes, end_.sent[0].size());
}

TEST_F(HostAdapterTest, APortThatIsNotActiveSendsNoData) {
  port_.link_down();
  EXPECT_FALSE(adapter_.send(1, {.destination = kSenderLid}, {}));
  port_.link_up(Speed::kQuad);
  EXPECT_FALSE(adapter_.send(1, {.destination = kSenderLid}, {}));
  ASSERT_TRUE(fake::order_port(port_, PortState::kArmed));
  EXPECT_FALSE(adapter_.send(1, {.destination = kSenderLid}, {}));
  EXPECT_TRUE(end_.sent.empty());
  EXPECT_EQ(port_.totals().send_discards, 3u);
}

TEST_F(HostAdapterTest, APortWithoutALinkDiscards) {
  ASSERT_TRUE(fake::set_port_active(*adapter_.port(2)));
  EXPECT_TRUE(adapter_.send(2, {.destination = kSenderLid}, {}));
  EXPECT_EQ(adapter_.port(2)->totals().send_discards, 1u);
}

TEST_F(HostAdapterTest, WhatItSendsToItselfDoesNotLeave) {
  DatagramHeaders headers = to_pair();
  EXPECT_TRUE(adapter_.send(1, headers, std::vector<std::byte>(8)));
  EXPECT_TRUE(receiver_.pairs.empty());
  deliver_loops();
  EXPECT_EQ(receiver_.pairs, (std::vector{pair_}));
  EXPECT_TRUE(end_.sent.empty());
}

// ---- Those that watch a port ----

TEST_F(HostAdapterTest, AnObserverSeesAllThatThePortSendsAndReceives) {
  SeenPackets seen;
  adapter_.set_observer(1, &seen);
  const Packet arrives = data(to_pair());
  arrive(arrives);
  const Packet malformed(100);
  arrive(malformed);
  const Packet question = smp_packet(get_of(attribute::kNodeInfo), kAdapterLid, kMasterLid);
  arrive(question);
  EXPECT_EQ(seen.received, (std::vector{arrives, malformed, question}));
  EXPECT_TRUE(adapter_.send(1, to_group(), std::vector<std::byte>(8)));
  EXPECT_EQ(seen.sent, end_.sent);
  EXPECT_EQ(seen.sent.size(), 2u);
  adapter_.set_observer(1, nullptr);
  arrive(arrives);
  EXPECT_EQ(seen.received.size(), 3u);
}

TEST_F(HostAdapterTest, UsersHearOfTheirPort) {
  HeardNews user;
  HeardNews other;
  adapter_.add_user(1, user);
  adapter_.add_user(2, other);
  port_.link_down();
  EXPECT_EQ(user.changes, 1u);
  ASSERT_TRUE(fake::set_port_identity(port_, 0x40, kMasterLid));
  EXPECT_EQ(user.changes, 2u);
  ASSERT_TRUE(fake::set_port_keys(port_, {0xFFFF}));
  EXPECT_EQ(user.changes, 3u);
  wire::infiniband::PortInfo wish = fake::wish_at(port_);
  wish.reregister_timeout |= wire::infiniband::kRegisterAgainBit;
  EXPECT_EQ(port_.set_info(wish), 0);
  EXPECT_EQ(user.registers_again, 1u);
  adapter_.remove_user(1, user);
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(user.changes, 3u);
  EXPECT_EQ(other.changes + other.registers_again, 0u);
}

TEST_F(HostAdapterTest, AnOrderForItsLinkIsPassedOn) {
  wire::infiniband::PortInfo wish = fake::wish_at(port_);
  wish.physical_state_default = 0x30;
  EXPECT_EQ(port_.set_info(wish), 0);
  EXPECT_EQ(end_.orders, 1u);
}

// ---- Anything ----

TEST_F(HostAdapterTest, RandomPacketsDoNoHarm) {
  std::mt19937 random(13);
  adapter_.queue_pairs(1).attach(pair_, {.lid = kGroupLidHere, .gid = kGroupGid});
  for (int round = 0; round < 20'000; ++round) {
    Packet packet;
    switch (random() % 4) {
      case 0: packet = smp_packet(fake::departed(get_of(attribute::kPortInfo), {1})); break;
      case 1:
        packet = fake::packet_with(fake::service_headers(kSenderLid, kAdapterLid),
                                   fake::mad_bytes(counters_question()));
        break;
      case 2: packet = data(to_group(), random() % 64); break;
      default: packet = data(to_pair(), random() % 64); break;
    }
    for (unsigned i = 0; i < random() % 6; ++i)
      packet[random() % packet.size()] = static_cast<std::byte>(random());
    arrive(std::move(packet));
    deliver_loops();
    ASSERT_LE(end_.take().size(), 2u);
  }
  clock_.now += 1min;
  adapter_.on_time(clock_.now);
  EXPECT_LE(end_.sent.size(), Notices::kMost);
}

}  // namespace
}  // namespace paravane::subnet
