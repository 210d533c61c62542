// LIDs of a port beyond its first: its path bits (LMC; IBTA volume 1, 4.1.3 and 7.11).

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "subnet/host_adapter.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::PerformancePacket;

constexpr std::uint16_t kFirstLid = 0x20;
constexpr std::uint16_t kAskerLid = 0x09;

class AddressKeeper final : public MadAgent {
 public:
  void on_mad(AgentId, const MadAddress& from, std::span<const std::byte>) override {
    addresses.push_back(from);
  }
  void on_no_answer(AgentId, const MadAddress&, std::span<const std::byte>) override {}
  std::vector<MadAddress> addresses;
};

// An adapter whose port has four LIDs.
class PathBitsTest : public testing::Test {
 protected:
  PathBitsTest() {
    adapter_.attach(1, end_);
    EXPECT_TRUE(fake::set_port_active(port_));
    wire::infiniband::PortInfo info = fake::wish_at(port_);
    info.lid.set(kFirstLid);
    info.protection_lmc = 2;
    EXPECT_EQ(port_.set_info(info), 0);
  }
  DatagramHeaders answer_to(std::vector<std::byte> packet) {
    adapter_.on_packet(1, std::move(packet));
    const std::vector<Packet> sent = end_.take();
    EXPECT_EQ(sent.size(), 1u);
    if (sent.empty()) return {};
    const auto read = wire::infiniband::read_datagram(sent[0]);
    return read ? read->headers : DatagramHeaders{};
  }

  TurnClock clock_{Instant(std::chrono::hours(1))};
  PacketQueue queue_;
  fake::RecordingLinkEnd end_;
  HostAdapter adapter_{"mlx4_0", {.name = "Test", .ports = 2}, 0x200, "host mlx4_0", queue_,
                       clock_};
  Port& port_ = *adapter_.port(1);
};

TEST_F(PathBitsTest, ALidIsMadeOfTheFirstAndOfItsBits) {
  EXPECT_EQ(port_.lids(), 4);
  for (std::uint8_t bits = 0; bits < 4; ++bits) {
    EXPECT_EQ(port_.lid_with(bits), kFirstLid + bits);
    EXPECT_EQ(port_.path_bits_of(port_.lid_with(bits)), bits);
  }
  EXPECT_EQ(port_.lid_with(4), kFirstLid) << "beyond the LMC";
  EXPECT_EQ(port_.lid_with(0xFF), kFirstLid + 3);
  EXPECT_EQ(port_.path_bits_of(kFirstLid + 4), 0);
  EXPECT_EQ(port_.path_bits_of(kFirstLid - 1), 0);
  EXPECT_EQ(port_.path_bits_of(0), 0);
  EXPECT_EQ(adapter_.port(2)->lid_with(3), 0) << "a port without a LID";
}

TEST_F(PathBitsTest, AnAnswerComesFromTheLidThatWasAsked) {
  PerformancePacket counters;
  counters.header.management_class = management_class::kPerformance;
  counters.header.method = method::kGet;
  counters.header.attribute.set(attribute::kPortCounters);
  counters.data[1] = std::byte{1};
  PerformancePacket without_agent = counters;
  without_agent.header.management_class = management_class::kDeviceManagement;
  for (std::uint16_t lid = kFirstLid; lid < kFirstLid + 4; ++lid) {
    const auto service = fake::service_headers(kAskerLid, lid);
    EXPECT_EQ(answer_to(fake::packet_with(service, fake::mad_bytes(counters))).source, lid);
    EXPECT_EQ(answer_to(fake::packet_with(service, fake::mad_bytes(without_agent))).source, lid);
    const DatagramHeaders by_lid =
        answer_to(fake::smp_packet(fake::get_of(attribute::kNodeInfo), lid, kAskerLid));
    EXPECT_EQ(by_lid.source, lid);
    EXPECT_EQ(by_lid.destination, kAskerLid);
    // And of a program here, if it has one.
    EXPECT_EQ(answer_to(fake::smp_packet(fake::get_of(attribute::kSmInfo), lid, kAskerLid)).source,
              lid);
  }
}

TEST_F(PathBitsTest, AnAgentIsToldThemAndSendsWithThem) {
  AddressKeeper keeper;
  AgentWish wish{.management_class = management_class::kCommunication, .class_version = 1};
  wish.methods[0] = 1U << method::kSend;
  const AgentId agent = adapter_.mads(1).register_agent(wish, keeper).value();
  PerformancePacket mad;
  mad.header.management_class = management_class::kCommunication;
  mad.header.method = method::kSend;
  adapter_.on_packet(
      1, fake::packet_with(fake::service_headers(kAskerLid, kFirstLid + 3), fake::mad_bytes(mad)));
  ASSERT_EQ(keeper.addresses.size(), 1u);
  EXPECT_EQ(keeper.addresses[0].path_bits, 3);
  const auto source_with = [&](std::uint8_t bits) {
    MadAddress to = keeper.addresses[0];
    to.path_bits = bits;
    EXPECT_TRUE(adapter_.mads(1).send(agent, to, fake::mad_bytes(mad), {}, 0, clock_.now));
    return wire::infiniband::read_datagram(end_.take().at(0))->headers.source;
  };
  EXPECT_EQ(source_with(3), kFirstLid + 3);
  EXPECT_EQ(source_with(0), kFirstLid);
  EXPECT_EQ(source_with(6), kFirstLid + 2) << "it has four";
}

TEST_F(PathBitsTest, DataGoesFromTheLidOfItsPath) {
  const auto source_of = [&](std::uint16_t wanted) {
    const DatagramHeaders headers{
        .source = wanted, .destination = kAskerLid, .source_qp = 0x40, .destination_qp = 0x41};
    EXPECT_TRUE(adapter_.send(1, headers, std::vector<std::byte>(8)));
    return wire::infiniband::read_datagram(end_.take().at(0))->headers.source;
  };
  EXPECT_EQ(source_of(kFirstLid + 3), kFirstLid + 3);
  EXPECT_EQ(source_of(0), kFirstLid);
  EXPECT_EQ(source_of(kFirstLid + 4), kFirstLid) << "which is not its own";
  EXPECT_EQ(source_of(kAskerLid), kFirstLid);
}

}  // namespace
}  // namespace paravane::subnet
