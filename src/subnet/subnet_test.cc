#include "subnet/subnet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "testing/management_datagrams.h"
#include "testing/recording_link_end.h"
#include "testing/subnet_rig.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::get_of;
using fake::Smp;
using fake::status_of;
using fake::SubnetRig;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::NodeType;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

constexpr std::uint32_t kTestQkey = 0x0BAD'CAFE;
constexpr std::uint16_t kBroadcastLid = 0xC000;
constexpr wire::infiniband::Gid kBroadcastGid{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF};

class CountedDatagrams : public DatagramReceiver {
 public:
  void on_datagram(std::uint32_t, const Datagram& packet) override {
    ++count;
    source = packet.headers.source;
  }
  unsigned count = 0;
  std::uint16_t source = 0;
};

// Answers every Get that it gets, and keeps answers to its own.
class EchoAgent : public MadAgent {
 public:
  EchoAgent(HostAdapter& adapter, const TurnClock& clock) : mads_(adapter.mads(1)), clock_(clock) {
    AgentWish wish{.management_class = management_class::kCommunication, .class_version = 1};
    wish.methods[0] = std::uint64_t{1} << method::kGet;
    id_ = mads_.register_agent(wish, *this).value();
  }
  ~EchoAgent() override { mads_.unregister(id_); }
  void ask(std::uint16_t lid) {
    wire::infiniband::PerformancePacket mad;
    mad.header.management_class = management_class::kCommunication;
    mad.header.method = method::kGet;
    mad.header.transaction.set(++asked_);
    EXPECT_TRUE(mads_.send(id_, {.lid = lid, .qp = 1}, fake::mad_bytes(mad), 1s, 2, clock_.now)
                    .has_value());
  }
  void on_mad(AgentId, const MadAddress& from, std::span<const std::byte> mad) override {
    std::vector<std::byte> bytes(mad.begin(), mad.end());
    if (bytes[3] == std::byte{method::kGetResponse}) {
      ++answers;
      return;
    }
    ++requests;
    bytes[3] = std::byte{method::kGetResponse};
    EXPECT_TRUE(mads_.send(id_, from, bytes, {}, 0, clock_.now).has_value());
  }
  void on_no_answer(AgentId, const MadAddress&, std::span<const std::byte>) override {
    ++unanswered;
  }
  unsigned requests = 0;
  unsigned answers = 0;
  unsigned unanswered = 0;

 private:
  MadPort& mads_;
  const TurnClock& clock_;
  AgentId id_{};
  std::uint64_t asked_ = 0;
};

// ---- Nodes and links ----

class SubnetTest : public testing::Test {
 protected:
  TurnClock clock_{Instant(1h)};
  Subnet subnet_{"host", 0x100, clock_};
};

TEST_F(SubnetTest, AdaptersHaveNamesOfTheirOwnAndAnOrder) {
  EXPECT_NE(subnet_.add("b", {.name = "Test"}, 0x200), nullptr);
  HostAdapter* first = subnet_.add("a", {.name = "Test", .ports = 2}, 0x300);
  EXPECT_EQ(subnet_.add("a", {.name = "Test"}, 0x400), nullptr);
  EXPECT_EQ(subnet_.find("a"), first);
  EXPECT_EQ(subnet_.find("c"), nullptr);
  EXPECT_EQ(first->identity().description, "host a");
  const auto all = subnet_.adapters();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], first);
  const auto links = subnet_.links();
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].peer, "b port 1");
  EXPECT_EQ(links[1].peer, "a port 1");
  EXPECT_EQ(links[2].peer, "a port 2");
  EXPECT_EQ(links[2].port, 3);
}

TEST_F(SubnetTest, AdaptersAreBounded) {
  for (std::size_t i = 0; i < Subnet::kMostAdapters; ++i)
    EXPECT_NE(subnet_.add("x" + std::to_string(i), {.name = "Test", .ports = 2}, 0x1000 * (i + 1)),
              nullptr);
  EXPECT_EQ(subnet_.add("more", {.name = "Test"}, 1), nullptr);
  EXPECT_EQ(subnet_.links().size(), 2 * Subnet::kMostAdapters);
}

TEST_F(SubnetTest, APlaceThatWasLeftIsTakenAgain) {
  (void)subnet_.add("a", {.name = "Test"}, 0x200);
  (void)subnet_.add("b", {.name = "Test"}, 0x300);
  subnet_.turn();
  EXPECT_EQ(subnet_.the_switch().port(1)->state(), PortState::kInitialize);
  subnet_.remove("a");
  subnet_.remove("nothing of that name");
  EXPECT_EQ(subnet_.the_switch().port(1)->state(), PortState::kDown);
  EXPECT_EQ(subnet_.the_switch().port(2)->state(), PortState::kInitialize);
  EXPECT_EQ(subnet_.find("a"), nullptr);
  HostAdapter* third = subnet_.add("c", {.name = "Test"}, 0x400);
  subnet_.turn();
  EXPECT_EQ(subnet_.links()[0].peer, "c port 1");
  EXPECT_EQ(third->port(1)->state(), PortState::kInitialize);
}

TEST_F(SubnetTest, ALinkHasTheSpeedOfItsSlowerEnd) {
  HostAdapter* slow = subnet_.add("slow", {.name = "Test", .speed = Speed::kSingle}, 0x200);
  subnet_.turn();
  EXPECT_EQ(slow->port(1)->info().speed_active_enabled >> 4, 1);
  EXPECT_EQ(subnet_.the_switch().port(1)->info().speed_active_enabled >> 4, 1);
}

TEST_F(SubnetTest, AnIdleSubnetHasNothingToDo) {
  (void)subnet_.add("a", {.name = "Test"}, 0x200);
  (void)subnet_.turn();
  EXPECT_FALSE(subnet_.turn());
  EXPECT_EQ(subnet_.next_deadline(), kNever);  // there is no manager that a notice could go to
}

TEST_F(SubnetTest, WhatIsOnItsWayToAnAdapterThatGoesIsForgotten) {
  (void)subnet_.add("a", {.name = "Test"}, 0x200);
  (void)subnet_.add("b", {.name = "Test"}, 0x300);
  subnet_.turn();
  ASSERT_EQ(subnet_.links()[0].peer, "a port 1");
  // Through the switch, to the adapter at its port 1.
  subnet_.the_switch().on_packet(
      2, fake::smp_packet(fake::departed(get_of(attribute::kNodeInfo), {1, 1})));
  subnet_.remove("a");
  EXPECT_FALSE(subnet_.turn());
}

// ---- With a manager ----

TEST(SubnetManagedTest, AllIsFoundAndMadeActive) {
  SubnetRig rig;
  ASSERT_EQ(rig.manager.nodes().size(), 3u);
  EXPECT_EQ(rig.manager.nodes()[0].info.port_guid.get(), SubnetRig::kFirstGuid + 1);
  EXPECT_EQ(rig.manager.nodes()[1].info.type, NodeType::kSwitch);
  EXPECT_EQ(rig.first_lid(), 1);
  EXPECT_EQ(rig.switch_lid(), 2);
  EXPECT_EQ(rig.second_lid(), 3);
  EXPECT_TRUE(rig.first.port(1)->is_active());
  EXPECT_TRUE(rig.second.port(1)->is_active());
  EXPECT_TRUE(rig.subnet.the_switch().port(1)->is_active());
  EXPECT_TRUE(rig.subnet.the_switch().port(2)->is_active());
  EXPECT_EQ(rig.second.port(1)->info().master_lid.get(), 1);
}

TEST(SubnetManagedTest, SmpsGoByLidToo) {
  SubnetRig rig;
  for (const std::uint16_t lid : {rig.first_lid(), rig.switch_lid(), rig.second_lid()}) {
    const auto answer = rig.manager.ask(get_of(attribute::kPortInfo), lid);
    ASSERT_TRUE(answer.has_value()) << lid;
    EXPECT_EQ(attribute_in<PortInfo>(*answer).lid.get(), lid);
  }
  EXPECT_FALSE(rig.manager.ask(get_of(attribute::kPortInfo), 99).has_value());
}

TEST(SubnetManagedTest, ProgramsOfTwoPortsTalkByLid) {
  SubnetRig rig;
  EchoAgent one(rig.first, rig.clock);
  EchoAgent other(rig.second, rig.clock);
  for (int i = 0; i < 5; ++i) one.ask(rig.second_lid());
  other.ask(rig.first_lid());
  one.ask(rig.first_lid());  // itself
  rig.settle();
  EXPECT_EQ(other.requests, 5u);
  EXPECT_EQ(one.answers, 6u);
  EXPECT_EQ(one.requests, 2u);
  EXPECT_EQ(other.answers, 1u);
  rig.advance(10s);
  EXPECT_EQ(one.unanswered + other.unanswered, 0u);
}

TEST(SubnetManagedTest, ALidThatIsNotThereDoesNotAnswer) {
  SubnetRig rig;
  EchoAgent one(rig.first, rig.clock);
  one.ask(77);
  rig.settle();
  for (int i = 0; i < 3; ++i) rig.advance(1s);
  EXPECT_EQ(one.unanswered, 1u);
  EXPECT_EQ(rig.subnet.the_switch().port(1)->totals().relay_errors, 3u);
}

TEST(SubnetManagedTest, AGroupReachesItsMembers) {
  SubnetRig rig;
  CountedDatagrams at_first;
  CountedDatagrams at_second;
  const QueuePairs::Facts facts{.partition = 0xFFFF, .qkey = kTestQkey};
  const QueuePairs::Group group{.lid = kBroadcastLid, .gid = kBroadcastGid};
  rig.first.queue_pairs(1).attach(rig.first.queue_pairs(1).make(facts, at_first).value(), group);
  rig.second.queue_pairs(1).attach(rig.second.queue_pairs(1).make(facts, at_second).value(), group);
  const DatagramHeaders headers{
      .destination = kBroadcastLid,
      .global = wire::infiniband::GlobalRoute{.destination = kBroadcastGid},
      .qkey = kTestQkey,
      .destination_qp = wire::infiniband::kMulticastQueuePair};
  const auto send = [&] {
    EXPECT_TRUE(rig.first.send(1, headers, std::array<std::byte, 64>{}));
    EXPECT_TRUE(rig.settle());
  };
  send();
  EXPECT_EQ(at_first.count, 1u);  // its own loop
  EXPECT_EQ(at_second.count, 0u);
  rig.manager.make_group(kBroadcastLid,
                         std::array{SubnetRig::kFirstGuid + 1, SubnetRig::kSecondGuid + 1});
  send();
  EXPECT_EQ(at_first.count, 2u);
  EXPECT_EQ(at_second.count, 1u);
  EXPECT_EQ(at_second.source, rig.first_lid());
  rig.manager.make_group(kBroadcastLid, {});
  send();
  EXPECT_EQ(at_second.count, 1u);
}

TEST(SubnetManagedTest, PartitionsKeepPortsApart) {
  SubnetRig rig;
  CountedDatagrams at_second;
  const std::uint32_t pair =
      rig.second.queue_pairs(1).make({.partition = 0x8005, .qkey = kTestQkey}, at_second).value();
  const auto send = [&](std::uint16_t partition) {
    EXPECT_TRUE(rig.first.send(1,
                               {.destination = rig.second_lid(),
                                .partition = partition,
                                .qkey = kTestQkey,
                                .destination_qp = pair},
                               {}));
    EXPECT_TRUE(rig.settle());
  };
  send(0x8005);
  EXPECT_EQ(at_second.count, 1u);
  // The switch lets the first adapter's port into no partition but the default one.
  const auto* node = rig.manager.find(SubnetRig::kSwitchGuid);
  ASSERT_NE(node, nullptr);
  const std::uint8_t way = 1;
  ASSERT_TRUE(rig.manager.write_partitions(*node, {0xFFFF}, way));
  ASSERT_TRUE(
      rig.manager
          .change_port(node->path, way, [](PortInfo& info) { info.lanes_enforcement |= 0x08; })
          .has_value());
  send(0x8005);
  EXPECT_EQ(at_second.count, 1u);
  EXPECT_EQ(rig.subnet.the_switch().port(way)->totals().receive_constraints, 1u);
  ASSERT_TRUE(rig.manager.write_partitions(*node, {0xFFFF, 0x8005}, way));
  send(0x8005);
  EXPECT_EQ(at_second.count, 2u);
  const auto* second = rig.manager.find(SubnetRig::kSecondGuid + 1);
  ASSERT_TRUE(rig.manager.write_partitions(*second, {0xFFFF, 0x8005}));
  EXPECT_EQ(rig.second.port(1)->partition(1), 0x8005);
}

TEST(SubnetManagedTest, APortThatIsDisabledIsGoneUntilItIsEnabled) {
  SubnetRig rig;
  EchoAgent one(rig.first, rig.clock);
  EchoAgent other(rig.second, rig.clock);
  const auto* node = rig.manager.find(SubnetRig::kSwitchGuid);
  const auto order = [&](PhysicalState state) {
    return rig.manager.change_port(node->path, 2, [state](PortInfo& info) {
      info.physical_state_default |= static_cast<std::uint8_t>(static_cast<unsigned>(state) << 4);
    });
  };
  ASSERT_TRUE(order(PhysicalState::kDisabled).has_value());
  EXPECT_EQ(rig.second.port(1)->state(), PortState::kDown);
  one.ask(rig.second_lid());
  rig.settle();
  for (int i = 0; i < 3; ++i) rig.advance(1s);
  EXPECT_EQ(one.unanswered, 1u);
  rig.manager.sweep();
  EXPECT_EQ(rig.manager.nodes().size(), 2u);
  node = rig.manager.find(SubnetRig::kSwitchGuid);
  ASSERT_TRUE(order(PhysicalState::kPolling).has_value());
  EXPECT_EQ(rig.second.port(1)->state(), PortState::kInitialize);
  rig.manager.sweep();
  EXPECT_EQ(rig.second_lid(), 3);  // as before
  one.ask(rig.second_lid());
  rig.settle();
  EXPECT_EQ(one.answers, 1u);
}

// Its own answer is lost with the link, and nothing else moves that would lead to another turn.
TEST(SubnetManagedTest, APortThatBouncesItselfComesUpAgain) {
  SubnetRig rig;
  const auto answer = rig.manager.change_port({1, 2}, 0, [](PortInfo& info) {
    info.physical_state_default |=
        static_cast<std::uint8_t>(static_cast<unsigned>(PhysicalState::kPolling) << 4);
  });
  EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(rig.second.port(1)->state(), PortState::kInitialize);
  EXPECT_EQ(rig.subnet.the_switch().port(2)->state(), PortState::kInitialize);
}

TEST(SubnetManagedTest, EachChangeHasAnotherNumberAndPacketsThatPassHaveNone) {
  SubnetRig rig;
  fake::RecordingLinkEnd end;
  std::uint64_t seen = rig.subnet.changes();
  const auto has_changed = [&rig, &seen] {
    const std::uint64_t before = std::exchange(seen, rig.subnet.changes());
    return seen != before;
  };
  EchoAgent one(rig.first, rig.clock);
  const EchoAgent other(rig.second, rig.clock);
  one.ask(rig.second_lid());
  rig.settle();
  EXPECT_EQ(one.answers, 1u);
  EXPECT_FALSE(has_changed());
  rig.second.mads(1).set_manager(true);
  EXPECT_TRUE(has_changed());
  rig.second.mads(1).set_manager(false);
  EXPECT_TRUE(has_changed());
  rig.second.port(1)->link_down();
  EXPECT_TRUE(has_changed());
  rig.settle();
  EXPECT_NE(rig.subnet.add("third", {.name = "Test"}, 0x400), nullptr);
  EXPECT_TRUE(has_changed());
  EXPECT_EQ(rig.subnet.attach_cable("h2", end), Subnet::kFirstCablePort);
  EXPECT_TRUE(has_changed());
  rig.subnet.the_switch().port(Subnet::kFirstCablePort)->link_up(Speed::kQuad);
  EXPECT_TRUE(has_changed());
  rig.subnet.detach_cable(Subnet::kFirstCablePort);
  EXPECT_TRUE(has_changed());
  rig.subnet.remove("third");
  EXPECT_TRUE(has_changed());
}

TEST(SubnetManagedTest, AManagerHearsOfAChangeUntilItRepressesIt) {
  SubnetRig rig;
  rig.advance(1min);
  rig.manager.forget_heard();
  rig.manager.represses(false);
  rig.subnet.remove("second");
  rig.settle();
  const auto traps = [&rig] {
    return std::ranges::count_if(rig.manager.heard(), [](const auto& heard) {
      return heard.smp.header.method == method::kTrap &&
             attribute_in<wire::infiniband::Notice>(heard.smp).trap.get() == 128;
    });
  };
  ASSERT_EQ(traps(), 1);
  EXPECT_EQ(rig.manager.heard()[0].from.lid, rig.switch_lid());
  rig.advance(500ms);
  EXPECT_EQ(traps(), 2);
  rig.manager.represses(true);
  rig.advance(1s);
  EXPECT_EQ(traps(), 3);
  for (int i = 0; i < 60; ++i) rig.advance(1s);
  EXPECT_EQ(traps(), 3);
  EXPECT_EQ(rig.subnet.the_switch().next_deadline(), kNever);
}

TEST(SubnetManagedTest, AManagersKeyKeepsOthersOut) {
  SubnetRig rig;
  rig.manager.use_key(0x1234, 1);
  rig.manager.sweep();  // which the first sweep's ports let it: they have no key yet
  fake::SubnetManager other(rig.second.mads(1), rig.clock, [&rig] { rig.settle(); });
  const auto set = other.change_port({1, 1}, 0, [](PortInfo& info) { info.lid.set(0x99); });
  EXPECT_FALSE(set.has_value());
  EXPECT_EQ(rig.first_lid(), 1);
  const auto read = other.ask_at({1, 1}, get_of(attribute::kPortInfo));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(attribute_in<PortInfo>(*read).management_key.get(), 0u);
  EXPECT_FALSE(
      other.change_port({1}, 2, [](PortInfo& info) { info.physical_state_default |= 0x30; })
          .has_value());
  EXPECT_FALSE(rig.subnet.the_switch().port(2)->is_disabled());
  EXPECT_TRUE(rig.manager.change_port({1}, 2, [](PortInfo&) {}).has_value());
}

TEST(SubnetManagedTest, APortHasOneManagerForEachOfItsMethods) {
  SubnetRig rig;
  EchoAgent agent(rig.first, rig.clock);
  AgentWish wish{.management_class = management_class::kSubnetByRoute, .class_version = 1};
  wish.methods[0] = std::uint64_t{1} << method::kTrap;
  EXPECT_EQ(rig.first.mads(1).register_agent(wish, agent).error(), AgentRefusal::kTaken);
  EXPECT_NE(rig.first.port(1)->capabilities() & wire::infiniband::capability::kIsManager, 0u);
}

TEST(SubnetManagedTest, AnAdapterThatComesLaterIsFoundByTheNextSweep) {
  SubnetRig rig;
  HostAdapter* third = rig.subnet.add("third", {.name = "Test", .ports = 2}, 0x0202'0000'0000'0400);
  ASSERT_NE(third, nullptr);
  rig.settle();
  EXPECT_FALSE(rig.manager.heard().empty());
  rig.manager.sweep();
  EXPECT_EQ(rig.manager.nodes().size(), 5u);
  EXPECT_TRUE(third->port(1)->is_active());
  EXPECT_TRUE(third->port(2)->is_active());
  EXPECT_EQ(rig.manager.lid_of(0x0202'0000'0000'0402), third->port(2)->lid());
  EXPECT_NE(third->port(1)->lid(), third->port(2)->lid());
}

TEST(SubnetManagedTest, ATurnBringsABoundedNumberOfPackets) {
  SubnetRig rig;
  CountedDatagrams at_second;
  const std::uint32_t pair =
      rig.second.queue_pairs(1).make({.partition = 0xFFFF, .qkey = kTestQkey}, at_second).value();
  constexpr unsigned kFlood = 5000;
  for (unsigned i = 0; i < kFlood; ++i)
    (void)rig.first.send(
        1, {.destination = rig.second_lid(), .qkey = kTestQkey, .destination_qp = pair}, {});
  EXPECT_TRUE(rig.subnet.turn());
  EXPECT_LE(at_second.count, Subnet::kPacketsPerTurn);
  EXPECT_TRUE(rig.settle());
  EXPECT_EQ(at_second.count, kFlood);
}

}  // namespace
}  // namespace paravane::subnet
