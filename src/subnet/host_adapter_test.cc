#include "subnet/host_adapter.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "testing/management_datagrams.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::get_of;
using fake::mad_in;
using fake::Smp;
using fake::smp_of;
using fake::smp_packet;
using wire::infiniband::BadKey;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kServiceQkey;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortState;

constexpr std::uint64_t kAdapterGuid = 0x0202'0000'0000'0200;
constexpr std::uint16_t kAdapterLid = 0x22;
constexpr std::uint16_t kMasterLid = 0x01;
constexpr std::uint16_t kSenderLid = 0x09;
constexpr std::uint32_t kPairQkey = 0x0000'1B1B;
constexpr std::uint16_t kGroupLidHere = 0xC010;
constexpr wire::infiniband::Gid kGroupGid{0xFF, 0x12, 0x40, 0x1B};

class PairReceiver : public DatagramReceiver {
 public:
  void on_datagram(std::uint32_t queue_pair, const Datagram& packet) override {
    pairs.push_back(queue_pair);
    headers = packet.headers;
    payload = {packet.payload.begin(), packet.payload.end()};
  }
  std::vector<std::uint32_t> pairs;
  DatagramHeaders headers;
  std::vector<std::byte> payload;
};

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

class RegisteredAgent : public MadAgent {
 public:
  void on_mad(AgentId, const MadAddress& from, std::span<const std::byte> mad) override {
    addresses.push_back(from);
    mads.emplace_back(mad.begin(), mad.end());
  }
  void on_no_answer(AgentId, const MadAddress&, std::span<const std::byte>) override {}
  std::vector<MadAddress> addresses;
  std::vector<std::vector<std::byte>> mads;
};

class HostAdapterTest : public testing::Test {
 protected:
  HostAdapterTest() {
    adapter_.attach(1, end_);
    EXPECT_TRUE(fake::set_port_active(port_));
    EXPECT_TRUE(fake::set_port_identity(port_, kAdapterLid, kMasterLid));
    pair_ =
        adapter_.queue_pairs(1).make({.partition = 0xFFFF, .qkey = kPairQkey}, receiver_).value();
  }

  void arrive(Packet packet) { adapter_.on_packet(1, std::move(packet)); }
  DatagramHeaders to_pair() const {
    return {.source = kSenderLid,
            .destination = kAdapterLid,
            .service_level = 2,
            .qkey = kPairQkey,
            .source_qp = 0x77,
            .destination_qp = pair_};
  }
  static Packet data(const DatagramHeaders& headers, std::size_t size = 10) {
    return fake::packet_with(headers, std::vector<std::byte>(size));
  }
  static DatagramHeaders to_group() {
    return {.source = kSenderLid,
            .destination = kGroupLidHere,
            .global = wire::infiniband::GlobalRoute{.destination = kGroupGid},
            .qkey = kPairQkey,
            .source_qp = 0x77,
            .destination_qp = wire::infiniband::kMulticastQueuePair};
  }
  static PerformancePacket counters_question() {
    PerformancePacket request;
    request.header.management_class = management_class::kPerformance;
    request.header.method = method::kGet;
    request.header.attribute.set(attribute::kPortCounters);
    request.data[1] = std::byte{1};
    return request;
  }
  static std::vector<std::uint16_t> numbers_of(const std::vector<Smp>& traps) {
    std::vector<std::uint16_t> numbers;
    for (const Smp& trap : traps)
      numbers.push_back(attribute_in<wire::infiniband::Notice>(trap).trap.get());
    return numbers;
  }
  std::vector<Smp> traps() {
    adapter_.on_time(clock_.now);
    std::vector<Smp> all;
    for (const Packet& packet : end_.take()) {
      const auto read = wire::infiniband::read_datagram(packet);
      EXPECT_TRUE(read && read->headers.destination == kMasterLid && read->headers.lane == 15);
      all.push_back(mad_in<Smp>(packet));
      EXPECT_EQ(all.back().header.method, method::kTrap);
    }
    return all;
  }
  static Packet repress_of(Smp trap, std::uint64_t key = 0) {
    trap.header.method = method::kTrapRepress;
    trap.management_key.set(key);
    return smp_packet(trap, kAdapterLid, kMasterLid);
  }
  // What the adapter has sent to itself.
  void deliver_loops() { (void)queue_.deliver(100); }

  TurnClock clock_{Instant(1h)};
  PacketQueue queue_;
  fake::RecordingLinkEnd end_;
  PairReceiver receiver_;
  HostAdapter adapter_{"mlx4_0",     {.name = "Test", .device_id = 7, .ports = 2},
                       kAdapterGuid, "host mlx4_0",
                       queue_,       clock_};
  Port& port_ = *adapter_.port(1);
  std::uint32_t pair_ = 0;
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
  wire::infiniband::PortInfo wish = port_.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
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

// ---- Keys ----

TEST_F(HostAdapterTest, ABadPartitionIsCountedAndTold) {
  DatagramHeaders headers = to_pair();
  headers.partition = 0x8044;
  headers.global = wire::infiniband::GlobalRoute{.source = {1, 2}, .destination = {3, 4}};
  arrive(data(headers));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_EQ(port_.info().partition_violations.get(), 1);
  EXPECT_EQ(port_.info().qkey_violations.get(), 0);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(told[0]);
  EXPECT_EQ(notice.generic_type, 0x82);
  EXPECT_EQ(notice.producer.get(), 1u);
  EXPECT_EQ(notice.trap.get(), 257);
  EXPECT_EQ(notice.issuer.get(), kAdapterLid);
  BadKey details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.source.get(), kSenderLid);
  EXPECT_EQ(details.destination.get(), kAdapterLid);
  EXPECT_EQ(details.key.get(), 0x8044u);
  EXPECT_EQ(details.level, 0x20);
  EXPECT_EQ(details.source_qp.get(), 0x77u);
  EXPECT_EQ(details.destination_qp.get(), pair_);
  EXPECT_EQ(details.source_gid, headers.global->source);
  EXPECT_EQ(details.destination_gid, headers.global->destination);
}

TEST_F(HostAdapterTest, ABadQkeyIsCountedAndTold) {
  DatagramHeaders headers = to_pair();
  headers.qkey = 0x8877'6655;
  arrive(data(headers));
  EXPECT_TRUE(receiver_.pairs.empty());
  EXPECT_EQ(port_.info().qkey_violations.get(), 1);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(told[0]);
  EXPECT_EQ(notice.trap.get(), 258);
  BadKey details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.key.get(), 0x8877'6655u);
}

TEST_F(HostAdapterTest, TheServiceQueuePairHasKeysToo) {
  const PerformancePacket question = counters_question();
  DatagramHeaders headers = fake::service_headers(kSenderLid, kAdapterLid);
  headers.partition = 0x8044;
  arrive(fake::packet_with(headers, fake::mad_bytes(question)));
  EXPECT_EQ(port_.info().partition_violations.get(), 1);
  headers.partition = 0xFFFF;
  headers.qkey = kServiceQkey + 1;
  arrive(fake::packet_with(headers, fake::mad_bytes(question)));
  EXPECT_EQ(port_.info().qkey_violations.get(), 1);
  EXPECT_TRUE(end_.sent.empty());
  EXPECT_EQ(traps().size(), 1u);
  clock_.now += Notices::kSecurityPause;
  EXPECT_EQ(traps().size(), 1u);
  headers.qkey = kServiceQkey;
  arrive(fake::packet_with(headers, fake::mad_bytes(question)));
  ASSERT_EQ(end_.sent.size(), 1u);
  EXPECT_EQ(mad_in<PerformancePacket>(end_.sent[0]).header.method, method::kGetResponse);
}

TEST_F(HostAdapterTest, AFloodOfBadKeysIsNoFloodOfTraps) {
  DatagramHeaders headers = to_pair();
  headers.qkey = 1;
  std::size_t told = 0;
  for (int i = 0; i < 1000; ++i) {
    arrive(data(headers));
    told += traps().size();
    clock_.now += 1ms;
  }
  EXPECT_LE(told, 3u);
  EXPECT_EQ(port_.info().qkey_violations.get(), 1000);
}

// ---- An observer ----

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

// ---- Management ----

TEST_F(HostAdapterTest, AnswersSmpsAlsoWhileItIsNotActive) {
  port_.link_down();
  port_.link_up(Speed::kQuad);
  arrive(smp_packet(fake::departed(get_of(attribute::kNodeInfo), {1})));
  ASSERT_EQ(end_.sent.size(), 1u);
  EXPECT_EQ(mad_in<Smp>(end_.sent[0]).header.status.get(), wire::infiniband::kReturning);
  arrive(smp_packet(get_of(attribute::kNodeInfo), kAdapterLid, kSenderLid));
  ASSERT_EQ(end_.sent.size(), 2u);
  const auto read = wire::infiniband::read_datagram(end_.sent[1]);
  EXPECT_EQ(read->headers.destination, kSenderLid);
  EXPECT_EQ(read->headers.source, kAdapterLid);
}

TEST_F(HostAdapterTest, SmpsForAnotherAreDropped) {
  arrive(smp_packet(get_of(attribute::kNodeInfo), kAdapterLid + 1, kSenderLid));
  DatagramHeaders headers{
      .source = kSenderLid, .destination = kAdapterLid, .lane = 15, .destination_qp = 1};
  arrive(fake::packet_with(headers, fake::mad_bytes(get_of(attribute::kNodeInfo))));
  headers.destination = kGroupLidHere;
  headers.destination_qp = 0;
  arrive(fake::packet_with(headers, fake::mad_bytes(get_of(attribute::kNodeInfo))));
  EXPECT_TRUE(end_.sent.empty());
  EXPECT_EQ(port_.totals().management_dropped, 3u);
}

TEST_F(HostAdapterTest, AProgramAsksItsOwnNodeByLid) {
  RegisteredAgent agent;
  MadPort& mads = adapter_.mads(1);
  const auto id = mads.register_agent(
      {.management_class = management_class::kSubnetByLid, .class_version = 1}, agent);
  ASSERT_TRUE(id.has_value());
  const Smp get = get_of(attribute::kNodeInfo);
  ASSERT_TRUE(
      mads.send(*id, {.lid = kAdapterLid}, fake::mad_bytes(get), 1s, 0, clock_.now).has_value());
  for (int i = 0; i < 4; ++i) deliver_loops();
  EXPECT_TRUE(end_.sent.empty());
  ASSERT_EQ(agent.mads.size(), 1u);
  mads.unregister(*id);
}

TEST_F(HostAdapterTest, ItsPortsAnswerApart) {
  fake::RecordingLinkEnd second;
  adapter_.attach(2, second);
  ASSERT_TRUE(fake::set_port_active(*adapter_.port(2)));
  adapter_.on_packet(2, smp_packet(fake::departed(get_of(attribute::kNodeInfo), {1})));
  EXPECT_TRUE(end_.sent.empty());
  ASSERT_EQ(second.sent.size(), 1u);
  EXPECT_EQ(attribute_in<wire::infiniband::NodeInfo>(mad_in<Smp>(second.sent[0])).port_guid.get(),
            kAdapterGuid + 2);
}

// ---- MTU ----

TEST_F(HostAdapterTest, WhatIsAboveTheMtuOfTheLinkIsDropped) {
  wire::infiniband::PortInfo wish = port_.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
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

// ---- Notices ----

TEST_F(HostAdapterTest, AManagerThatComesOrGoesIsTold) {
  adapter_.mads(1).set_manager(true);
  std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(told[0]);
  EXPECT_EQ(notice.trap.get(), 144);
  EXPECT_EQ(notice.generic_type, 0x84);
  wire::infiniband::CapabilityChange details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.lid.get(), kAdapterLid);
  EXPECT_EQ(details.capabilities.get(), port_.capabilities());
  EXPECT_NE(details.capabilities.get() & wire::infiniband::capability::kIsManager, 0u);
  arrive(repress_of(told[0]));
  clock_.now += 1min;
  EXPECT_TRUE(traps().empty());
}

TEST_F(HostAdapterTest, ANoticeIsRepressedWithTheKeyAlone) {
  constexpr std::uint64_t kPortKey = 0x77;
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, kMasterLid, kPortKey));
  adapter_.mads(1).set_manager(true);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  arrive(repress_of(told[0]));
  arrive(repress_of(told[0], kPortKey + 1));
  EXPECT_EQ(port_.info().key_violations.get(), 2);
  EXPECT_EQ(numbers_of(traps()), std::vector<std::uint16_t>{256});
  clock_.now += 1min;
  EXPECT_EQ(numbers_of(traps()), (std::vector<std::uint16_t>{144, 256}));
  arrive(repress_of(told[0], kPortKey));
  clock_.now += 1min;
  EXPECT_EQ(numbers_of(traps()), std::vector<std::uint16_t>{256});
}

TEST_F(HostAdapterTest, AWrongManagementKeyIsTold) {
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, kMasterLid, 0x77));
  Smp request = fake::set_of(attribute::kPortInfo, port_.info(), 5);
  request.management_key.set(0x78);
  arrive(smp_packet(request, kAdapterLid, kSenderLid));
  const auto told = traps();
  ASSERT_EQ(numbers_of(told), std::vector<std::uint16_t>{256});
  const auto notice = attribute_in<wire::infiniband::Notice>(told[0]);
  EXPECT_EQ(notice.generic_type, 0x82);
  wire::infiniband::BadManagementKey details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.source.get(), kSenderLid);
  EXPECT_EQ(details.method, method::kSet);
  EXPECT_EQ(details.attribute.get(), attribute::kPortInfo);
  EXPECT_EQ(details.modifier.get(), 5u);
  EXPECT_EQ(details.key.get(), 0x78u);
  EXPECT_EQ(details.route, 0);
}

TEST_F(HostAdapterTest, ANewManagerReadsTheKeyWhenTheLeaseHasEnded) {
  wire::infiniband::PortInfo info = port_.info();
  info.speed_supported_state &= 0xF0;
  info.physical_state_default &= 0x0F;
  info.management_key.set(0x77);
  info.key_lease_s.set(10);
  info.protection_lmc = 0xC0;
  ASSERT_EQ(port_.set_info(info), 0);
  Smp request = get_of(attribute::kPortInfo);
  // The key that the port tells; nullopt: it does not answer.
  const auto told_key = [&]() -> std::optional<std::uint64_t> {
    adapter_.on_time(clock_.now);
    end_.take();
    arrive(smp_packet(request, kAdapterLid, kSenderLid));
    std::optional<std::uint64_t> key;
    for (const Packet& packet : end_.take()) {
      const Smp smp = mad_in<Smp>(packet);
      if (smp.header.method == method::kGetResponse)
        key = attribute_in<wire::infiniband::PortInfo>(smp).management_key.get();
    }
    adapter_.on_time(clock_.now);  // a lease begins in the turn of the packet
    return key;
  };
  EXPECT_EQ(told_key(), std::nullopt);
  clock_.now += 9s;
  // One with the right key begins it anew.
  request.management_key.set(0x77);
  EXPECT_EQ(told_key(), 0x77u);
  request.management_key.set(0);
  EXPECT_EQ(told_key(), std::nullopt);
  clock_.now += 9s;
  EXPECT_EQ(told_key(), std::nullopt);
  clock_.now += 1s;
  EXPECT_LE(adapter_.next_deadline(), clock_.now);
  EXPECT_EQ(told_key(), 0x77u);
}

TEST_F(HostAdapterTest, AWrongManagementKeyByADirectedRouteIsToldWithTheWayBack) {
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, kMasterLid, 0x77));
  Smp request = fake::directed(fake::set_of(attribute::kPortInfo, port_.info()), {1, 5});
  request.header.class_specific.set(fake::hops_of(2, 2));
  request.return_path[1] = 3;
  arrive(smp_packet(request));
  const auto told = traps();
  ASSERT_EQ(told.size(), 1u);
  wire::infiniband::BadManagementKey details;
  std::memcpy(&details, attribute_in<wire::infiniband::Notice>(told[0]).details.data(),
              sizeof details);
  EXPECT_EQ(details.route, wire::infiniband::kByRoute | 2);
  EXPECT_EQ(details.route_source.get(), wire::infiniband::kPermissiveLid);
  EXPECT_EQ(details.return_path[0], 3);
}

TEST_F(HostAdapterTest, WithoutALidOrAManagerNoticesWait) {
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, 0));
  adapter_.mads(1).set_manager(true);
  EXPECT_TRUE(traps().empty());
  EXPECT_EQ(adapter_.next_deadline(), kNever);
  clock_.now += 1min;
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid + 1, kMasterLid));
  EXPECT_EQ(adapter_.next_deadline(), clock_.now);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(attribute_in<wire::infiniband::Notice>(told[0]).issuer.get(), kAdapterLid + 1);
}

TEST_F(HostAdapterTest, AProgramsTrapIsRepressedForTheProgram) {
  RegisteredAgent agent;
  MadPort& mads = adapter_.mads(1);
  const auto id = mads.register_agent(
      {.management_class = management_class::kSubnetByLid, .class_version = 1}, agent);
  ASSERT_TRUE(id.has_value());
  const Smp trap = smp_of(method::kTrap, attribute::kNotice);
  ASSERT_TRUE(
      mads.send(*id, {.lid = kMasterLid}, fake::mad_bytes(trap), 1s, 0, clock_.now).has_value());
  ASSERT_EQ(end_.sent.size(), 1u);
  arrive(repress_of(mad_in<Smp>(end_.sent[0])));
  EXPECT_EQ(agent.mads.size(), 1u);
  mads.unregister(*id);
}

// ---- Its users ----

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
  wire::infiniband::PortInfo wish = port_.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
  wish.reregister_timeout |= wire::infiniband::kRegisterAgainBit;
  EXPECT_EQ(port_.set_info(wish), 0);
  EXPECT_EQ(user.registers_again, 1u);
  adapter_.remove_user(1, user);
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(user.changes, 3u);
  EXPECT_EQ(other.changes + other.registers_again, 0u);
}

TEST_F(HostAdapterTest, AnOrderForItsLinkIsPassedOn) {
  wire::infiniband::PortInfo wish = port_.info();
  wish.speed_supported_state &= 0xF0;
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
