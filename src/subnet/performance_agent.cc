#include "subnet/performance_agent.h"

#include <algorithm>
#include <vector>

#include "wire/infiniband/attribute.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace method = wire::infiniband::method;
using wire::infiniband::attribute_of;
using wire::infiniband::ClassPortInfo;
using wire::infiniband::MadHeader;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortCounters;
using wire::infiniband::PortCountersExtended;
using wire::infiniband::put_attribute;

constexpr std::uint32_t kAnswersWithinASecond = 18;

template <typename Field>
void stay_at_most(Field& field, std::uint64_t value) {
  using Number = decltype(field.get());
  field.set(static_cast<Number>(std::min<std::uint64_t>(value, static_cast<Number>(-1))));
}
void stay_at_most(std::uint8_t& field, std::uint64_t value) {
  field = static_cast<std::uint8_t>(std::min<std::uint64_t>(value, UINT8_MAX));
}

// Bits of PortCounters::chosen, and what each clears (table 247 of 16.1.3.5).
struct Choice {
  unsigned bit;
  std::uint64_t PortTotals::* total;
};
constexpr Choice kChoices[] = {
    {2, &PortTotals::link_downed},         {3, &PortTotals::receive_errors},
    {5, &PortTotals::relay_errors},        {6, &PortTotals::send_discards},
    {7, &PortTotals::send_constraints},    {8, &PortTotals::receive_constraints},
    {11, &PortTotals::management_dropped}, {12, &PortTotals::sent_bytes},
    {13, &PortTotals::received_bytes},     {14, &PortTotals::sent_unicast},
    {14, &PortTotals::sent_multicast},     {15, &PortTotals::received_unicast},
    {15, &PortTotals::received_multicast},
};
// The same of PortCountersExtended::chosen (16.1.4.11).
constexpr Choice kExtendedChoices[] = {
    {0, &PortTotals::sent_bytes},       {1, &PortTotals::received_bytes},
    {2, &PortTotals::sent_unicast},     {2, &PortTotals::sent_multicast},
    {3, &PortTotals::received_unicast}, {3, &PortTotals::received_multicast},
    {4, &PortTotals::sent_unicast},     {5, &PortTotals::received_unicast},
    {6, &PortTotals::sent_multicast},   {7, &PortTotals::received_multicast},
};

template <std::size_t kCount>
void clear(const Choice (&choices)[kCount], std::uint16_t chosen, PortTotals& totals) {
  for (const Choice& choice : choices) {
    if ((chosen >> choice.bit & 1) != 0) totals.*choice.total = 0;
  }
}

// The ports that a request is about; empty: the node has no such port.
std::vector<Port*> chosen_ports(Node& node, std::uint8_t number) {
  std::vector<Port*> ports;
  if (number == wire::infiniband::kAllPorts) {
    for (unsigned i = 1; i <= node.ports(); ++i)
      ports.push_back(node.port(static_cast<PortNumber>(i)));
  } else if (Port* port = node.port(number); port != nullptr) {
    ports.push_back(port);
  }
  return ports;
}

PortTotals sum_of(const std::vector<Port*>& ports) {
  PortTotals sum;
  for (const Port* port : ports) {
    for (const auto total : kPortTotals) sum.*total += port->totals().*total;
  }
  return sum;
}

}  // namespace

bool PerformanceAgent::answers(const MadHeader& header) {
  return header.management_class == wire::infiniband::management_class::kPerformance &&
         (header.method == method::kGet || header.method == method::kSet);
}

PerformancePacket PerformanceAgent::answer(const Packet& request) {
  Packet answer = request;
  answer.header.method = method::kGetResponse;
  answer.header.status.set(carry_out(request, answer));
  return answer;
}

std::uint16_t PerformanceAgent::carry_out(const Packet& request, Packet& answer) {
  if (request.header.base_version != 1 || request.header.class_version != 1)
    return mad_status::kBadVersion;
  switch (request.header.attribute.get()) {
    case attribute::kClassPortInfo: {
      if (request.header.method == method::kSet) return mad_status::kBadAttribute;
      ClassPortInfo info;
      info.capabilities.set(wire::infiniband::kAllPortsAtOnce |
                            wire::infiniband::kExtendedCounters);
      info.response_time.set(kAnswersWithinASecond);
      put_attribute(info, answer);
      return 0;
    }
    case attribute::kPortCounters: return counters(request, answer);
    case attribute::kPortCountersExtended: return extended_counters(request, answer);
    default: return mad_status::kBadAttribute;
  }
}

std::uint16_t PerformanceAgent::counters(const Packet& request, Packet& answer) {
  auto shown = attribute_of<PortCounters>(request);
  const std::vector<Port*> ports = chosen_ports(node_, shown.port);
  if (ports.empty()) return mad_status::kBadField;
  if (request.header.method == method::kSet) {
    for (Port* port : ports) clear(kChoices, shown.chosen.get(), port->totals());
  }
  const PortTotals totals = sum_of(ports);
  const std::uint8_t number = shown.port;
  shown = {};
  shown.port = number;
  stay_at_most(shown.link_downed, totals.link_downed);
  stay_at_most(shown.receive_errors, totals.receive_errors);
  stay_at_most(shown.relay_errors, totals.relay_errors);
  stay_at_most(shown.send_discards, totals.send_discards);
  stay_at_most(shown.send_constraints, totals.send_constraints);
  stay_at_most(shown.receive_constraints, totals.receive_constraints);
  stay_at_most(shown.management_dropped, totals.management_dropped);
  stay_at_most(shown.sent_words, totals.sent_bytes / 4);
  stay_at_most(shown.received_words, totals.received_bytes / 4);
  stay_at_most(shown.sent_packets, totals.sent_unicast + totals.sent_multicast);
  stay_at_most(shown.received_packets, totals.received_unicast + totals.received_multicast);
  put_attribute(shown, answer);
  return 0;
}

std::uint16_t PerformanceAgent::extended_counters(const Packet& request, Packet& answer) {
  auto shown = attribute_of<PortCountersExtended>(request);
  const std::vector<Port*> ports = chosen_ports(node_, shown.port);
  if (ports.empty()) return mad_status::kBadField;
  if (request.header.method == method::kSet) {
    for (Port* port : ports) clear(kExtendedChoices, shown.chosen.get(), port->totals());
  }
  const PortTotals totals = sum_of(ports);
  shown.sent_words.set(totals.sent_bytes / 4);
  shown.received_words.set(totals.received_bytes / 4);
  shown.sent_packets.set(totals.sent_unicast + totals.sent_multicast);
  shown.received_packets.set(totals.received_unicast + totals.received_multicast);
  shown.sent_unicast.set(totals.sent_unicast);
  shown.received_unicast.set(totals.received_unicast);
  shown.sent_multicast.set(totals.sent_multicast);
  shown.received_multicast.set(totals.received_multicast);
  put_attribute(shown, answer);
  return 0;
}

}  // namespace paravane::subnet
