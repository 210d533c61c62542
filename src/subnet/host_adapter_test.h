// What tests of HostAdapter share: an adapter whose first port is active at a recording link end,
// and a queue pair there that keeps what it hears.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "subnet/host_adapter.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {

inline constexpr std::uint64_t kAdapterGuid = 0x0202'0000'0000'0200;
inline constexpr std::uint16_t kAdapterLid = 0x22;
inline constexpr std::uint16_t kMasterLid = 0x01;
inline constexpr std::uint16_t kSenderLid = 0x09;
inline constexpr std::uint32_t kPairQkey = 0x0000'1B1B;
inline constexpr std::uint16_t kGroupLidHere = 0xC010;
inline constexpr wire::infiniband::Gid kGroupGid{0xFF, 0x12, 0x40, 0x1B};

class PairReceiver : public DatagramReceiver {
 public:
  void on_datagram(std::uint32_t queue_pair, const wire::infiniband::Datagram& packet) override {
    pairs.push_back(queue_pair);
    headers = packet.headers;
    payload = {packet.payload.begin(), packet.payload.end()};
  }
  std::vector<std::uint32_t> pairs;
  wire::infiniband::DatagramHeaders headers;
  std::vector<std::byte> payload;
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
  wire::infiniband::DatagramHeaders to_pair() const {
    return {.source = kSenderLid,
            .destination = kAdapterLid,
            .service_level = 2,
            .qkey = kPairQkey,
            .source_qp = 0x77,
            .destination_qp = pair_};
  }
  static Packet data(const wire::infiniband::DatagramHeaders& headers, std::size_t size = 10) {
    return fake::packet_with(headers, std::vector<std::byte>(size));
  }
  static wire::infiniband::DatagramHeaders to_group() {
    return {.source = kSenderLid,
            .destination = kGroupLidHere,
            .global = wire::infiniband::GlobalRoute{.destination = kGroupGid},
            .qkey = kPairQkey,
            .source_qp = 0x77,
            .destination_qp = wire::infiniband::kMulticastQueuePair};
  }
  static wire::infiniband::PerformancePacket counters_question() {
    wire::infiniband::PerformancePacket request;
    request.header.management_class = wire::infiniband::management_class::kPerformance;
    request.header.method = wire::infiniband::method::kGet;
    request.header.attribute.set(wire::infiniband::attribute::kPortCounters);
    request.data[1] = std::byte{1};
    return request;
  }
  static std::vector<std::uint16_t> numbers_of(const std::vector<fake::Smp>& traps) {
    std::vector<std::uint16_t> numbers;
    for (const fake::Smp& trap : traps)
      numbers.push_back(fake::attribute_in<wire::infiniband::Notice>(trap).trap.get());
    return numbers;
  }
  std::vector<fake::Smp> traps() {
    adapter_.on_time(clock_.now);
    std::vector<fake::Smp> all;
    for (const Packet& packet : end_.take()) {
      const auto read = wire::infiniband::read_datagram(packet);
      EXPECT_TRUE(read && read->headers.destination == kMasterLid && read->headers.lane == 15);
      all.push_back(fake::mad_in<fake::Smp>(packet));
      EXPECT_EQ(all.back().header.method, wire::infiniband::method::kTrap);
    }
    return all;
  }
  static Packet repress_of(fake::Smp trap, std::uint64_t key = 0) {
    trap.header.method = wire::infiniband::method::kTrapRepress;
    trap.management_key.set(key);
    return fake::smp_packet(trap, kAdapterLid, kMasterLid);
  }
  // What the adapter has sent to itself.
  void deliver_loops() { (void)queue_.deliver(100); }

  TurnClock clock_{Instant(std::chrono::hours(1))};
  PacketQueue queue_;
  fake::RecordingLinkEnd end_;
  PairReceiver receiver_;
  HostAdapter adapter_{"mlx4_0",     {.name = "Test", .device_id = 7, .ports = 2},
                       kAdapterGuid, "host mlx4_0",
                       queue_,       clock_};
  Port& port_ = *adapter_.port(1);
  std::uint32_t pair_ = 0;
};

}  // namespace paravane::subnet
