#include "subnet/performance_agent.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "testing/bare_node.h"
#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::BareNode;
using fake::put_attribute_in;
using wire::infiniband::kAllPorts;
using wire::infiniband::NodeType;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortCounters;
using wire::infiniband::PortCountersExtended;

PerformancePacket performance_request(std::uint8_t a_method, std::uint16_t an_attribute) {
  PerformancePacket packet;
  packet.header.management_class = wire::infiniband::management_class::kPerformance;
  packet.header.method = a_method;
  packet.header.attribute.set(an_attribute);
  return packet;
}

class PerformanceAgentTest : public testing::Test {
 protected:
  template <typename Counters>
  PerformancePacket ask(std::uint8_t a_method, std::uint8_t port, std::uint16_t chosen = 0) {
    constexpr bool is_extended = std::is_same_v<Counters, PortCountersExtended>;
    PerformancePacket request = performance_request(
        a_method, is_extended ? attribute::kPortCountersExtended : attribute::kPortCounters);
    Counters counters;
    counters.port = port;
    counters.chosen.set(chosen);
    put_attribute_in(request, counters);
    return agent_.answer(request);
  }
  template <typename Counters>
  Counters read(std::uint8_t port) {
    const PerformancePacket answer = ask<Counters>(method::kGet, port);
    EXPECT_EQ(answer.header.status.get(), 0);
    EXPECT_EQ(answer.header.method, method::kGetResponse);
    return attribute_in<Counters>(answer);
  }
  void fill(PortNumber port, std::uint64_t by) {
    node_.port(port)->totals() = {.sent_bytes = 400 * by,
                                  .received_bytes = 804 * by,
                                  .sent_unicast = 3 * by,
                                  .received_unicast = 4 * by,
                                  .sent_multicast = 5 * by,
                                  .received_multicast = 6 * by,
                                  .receive_errors = 7 * by,
                                  .relay_errors = 8 * by,
                                  .send_discards = 9 * by,
                                  .send_constraints = 10 * by,
                                  .receive_constraints = 11 * by,
                                  .management_dropped = 12 * by,
                                  .link_downed = 13 * by};
  }

  BareNode node_{NodeType::kSwitch, 3};
  PerformanceAgent agent_{node_};
};

TEST_F(PerformanceAgentTest, AnswersItsClassAlone) {
  wire::infiniband::MadHeader header = performance_request(method::kGet, 0x1234).header;
  EXPECT_TRUE(PerformanceAgent::answers(header));
  header.method = method::kSet;
  EXPECT_TRUE(PerformanceAgent::answers(header));
  for (const std::uint8_t other : {method::kSend, method::kTrap, method::kGetResponse}) {
    header.method = other;
    EXPECT_FALSE(PerformanceAgent::answers(header));
  }
  header.method = method::kGet;
  header.management_class = wire::infiniband::management_class::kBaseboard;
  EXPECT_FALSE(PerformanceAgent::answers(header));
}

TEST_F(PerformanceAgentTest, TellsWhatItCanDo) {
  const PerformancePacket answer =
      agent_.answer(performance_request(method::kGet, attribute::kClassPortInfo));
  EXPECT_EQ(answer.header.status.get(), 0);
  const auto info = attribute_in<wire::infiniband::ClassPortInfo>(answer);
  EXPECT_EQ(info.base_version, 1);
  EXPECT_EQ(info.class_version, 1);
  EXPECT_EQ(info.capabilities.get(), 0x0300);
  EXPECT_EQ(info.response_time.get() & 0x1F, 18u);
  EXPECT_EQ(agent_.answer(performance_request(method::kSet, attribute::kClassPortInfo))
                .header.status.get(),
            mad_status::kBadAttribute);
}

TEST_F(PerformanceAgentTest, OtherVersionsAndAttributesAreRefused) {
  PerformancePacket request = performance_request(method::kGet, attribute::kPortCounters);
  request.header.class_version = 2;
  EXPECT_EQ(agent_.answer(request).header.status.get(), mad_status::kBadVersion);
  request.header.class_version = 1;
  request.header.base_version = 0;
  EXPECT_EQ(agent_.answer(request).header.status.get(), mad_status::kBadVersion);
  for (const std::uint16_t unknown : std::initializer_list<std::uint16_t>{0, 0x10, 0x1E, 0xFFFF}) {
    EXPECT_EQ(agent_.answer(performance_request(method::kGet, unknown)).header.status.get(),
              mad_status::kBadAttribute);
  }
}

TEST_F(PerformanceAgentTest, TellsWhatAPortHasCounted) {
  fill(2, 1);
  const auto counters = read<PortCounters>(2);
  EXPECT_EQ(counters.port, 2);
  EXPECT_EQ(counters.sent_words.get(), 100u);  // bytes / 4
  EXPECT_EQ(counters.received_words.get(), 201u);
  EXPECT_EQ(counters.sent_packets.get(), 8u);
  EXPECT_EQ(counters.received_packets.get(), 10u);
  EXPECT_EQ(counters.receive_errors.get(), 7);
  EXPECT_EQ(counters.relay_errors.get(), 8);
  EXPECT_EQ(counters.send_discards.get(), 9);
  EXPECT_EQ(counters.send_constraints, 10);
  EXPECT_EQ(counters.receive_constraints, 11);
  EXPECT_EQ(counters.management_dropped.get(), 12);
  EXPECT_EQ(counters.link_downed, 13);
  EXPECT_EQ(read<PortCounters>(1).sent_words.get(), 0u);

  const auto extended = read<PortCountersExtended>(2);
  EXPECT_EQ(extended.sent_words.get(), 100u);
  EXPECT_EQ(extended.received_words.get(), 201u);
  EXPECT_EQ(extended.sent_packets.get(), 8u);
  EXPECT_EQ(extended.received_packets.get(), 10u);
  EXPECT_EQ(extended.sent_unicast.get(), 3u);
  EXPECT_EQ(extended.received_unicast.get(), 4u);
  EXPECT_EQ(extended.sent_multicast.get(), 5u);
  EXPECT_EQ(extended.received_multicast.get(), 6u);
}

TEST_F(PerformanceAgentTest, CountersStayAtTheirGreatestValue) {
  fill(1, std::uint64_t{1} << 34);
  const auto counters = read<PortCounters>(1);
  EXPECT_EQ(counters.sent_words.get(), 0xFFFF'FFFFu);
  EXPECT_EQ(counters.received_packets.get(), 0xFFFF'FFFFu);
  EXPECT_EQ(counters.receive_errors.get(), 0xFFFF);
  EXPECT_EQ(counters.link_downed, 0xFF);
  EXPECT_EQ(counters.send_constraints, 0xFF);
  EXPECT_EQ(read<PortCountersExtended>(1).sent_words.get(), std::uint64_t{100} << 34);
}

TEST_F(PerformanceAgentTest, AllPortsAreTheSumOfTheOuterOnes) {
  fill(0, 1000);
  fill(1, 1);
  fill(2, 2);
  fill(3, 4);
  EXPECT_EQ(read<PortCounters>(kAllPorts).sent_words.get(), 700u);
  EXPECT_EQ(read<PortCounters>(kAllPorts).port, kAllPorts);
  EXPECT_EQ(read<PortCountersExtended>(kAllPorts).received_multicast.get(), 42u);
  EXPECT_EQ(ask<PortCounters>(method::kSet, kAllPorts, 0xFFFF).header.status.get(), 0);
  for (const PortNumber port : std::initializer_list<PortNumber>{1, 2, 3})
    EXPECT_EQ(node_.port(port)->totals().sent_bytes, 0u);
  EXPECT_EQ(node_.port(0)->totals().sent_bytes, 400'000u);
}

TEST_F(PerformanceAgentTest, ASetClearsWhatItNames) {
  struct One {
    unsigned bit;
    std::uint64_t PortTotals::* total;
  };
  for (const One& one :
       {One{2, &PortTotals::link_downed}, One{3, &PortTotals::receive_errors},
        One{5, &PortTotals::relay_errors}, One{6, &PortTotals::send_discards},
        One{7, &PortTotals::send_constraints}, One{8, &PortTotals::receive_constraints},
        One{11, &PortTotals::management_dropped}, One{12, &PortTotals::sent_bytes},
        One{13, &PortTotals::received_bytes}, One{14, &PortTotals::sent_multicast},
        One{15, &PortTotals::received_unicast}}) {
    fill(1, 1);
    const PortTotals before = node_.port(1)->totals();
    ask<PortCounters>(method::kSet, 1, static_cast<std::uint16_t>(~(1U << one.bit)));
    EXPECT_EQ(node_.port(1)->totals().*one.total, before.*one.total) << one.bit;
    ask<PortCounters>(method::kSet, 1, static_cast<std::uint16_t>(1U << one.bit));
    EXPECT_EQ(node_.port(1)->totals().*one.total, 0u) << one.bit;
  }
  fill(1, 1);
  ask<PortCountersExtended>(method::kSet, 1, 0x0001);
  EXPECT_EQ(node_.port(1)->totals().sent_bytes, 0u);
  EXPECT_EQ(node_.port(1)->totals().received_bytes, 804u);
  ask<PortCountersExtended>(method::kSet, 1, 0x0040);
  EXPECT_EQ(node_.port(1)->totals().sent_multicast, 0u);
  EXPECT_EQ(node_.port(1)->totals().sent_unicast, 3u);
}

TEST_F(PerformanceAgentTest, APortThatIsNotThereIsRefused) {
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{4, 128, 254}) {
    EXPECT_EQ(ask<PortCounters>(method::kGet, port).header.status.get(), mad_status::kBadField);
    EXPECT_EQ(ask<PortCountersExtended>(method::kSet, port, 0xFFFF).header.status.get(),
              mad_status::kBadField);
  }
  BareNode adapter(NodeType::kChannelAdapter, 1);
  PerformanceAgent agent(adapter);
  EXPECT_EQ(
      agent.answer(performance_request(method::kGet, attribute::kPortCounters)).header.status.get(),
      mad_status::kBadField);  // port 0
}

}  // namespace
}  // namespace paravane::subnet
