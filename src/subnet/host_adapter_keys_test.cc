// The keys of HostAdapter: of partitions, of queue pairs and of management, and what a wrong one
// has told.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "subnet/host_adapter_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::get_of;
using fake::mad_in;
using fake::Smp;
using fake::smp_packet;
using wire::infiniband::BadKey;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kServiceQkey;
using wire::infiniband::PerformancePacket;

// ---- Of partitions and queue pairs ----

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

// ---- Of management ----

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

TEST_F(HostAdapterTest, ANewManagerReadsTheKeyWhenTheLeaseHasEnded) {
  wire::infiniband::PortInfo info = fake::wish_at(port_);
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

}  // namespace
}  // namespace paravane::subnet
