// PerformanceAgent: the performance management agent of a node. It shows and clears the counters of
// the node's ports (IBTA volume 1, 16.1).
//
// The subnet's thread only.

#pragma once

#include "subnet/node.h"
#include "wire/infiniband/performance.h"

namespace paravane::subnet {

class PerformanceAgent {
 public:
  // `node` outlives us.
  explicit PerformanceAgent(Node& node) : node_(node) {}

  static bool answers(const wire::infiniband::MadHeader& header);
  wire::infiniband::PerformancePacket answer(const wire::infiniband::PerformancePacket& request);

 private:
  using Packet = wire::infiniband::PerformancePacket;

  std::uint16_t carry_out(const Packet& request, Packet& answer);
  std::uint16_t counters(const Packet& request, Packet& answer);
  std::uint16_t extended_counters(const Packet& request, Packet& answer);

  Node& node_;
};

}  // namespace paravane::subnet
