// RecordingLinkEnd: an end of a link that keeps what a port sends.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "subnet/link_end.h"

namespace paravane::fake {

class RecordingLinkEnd final : public subnet::LinkEnd {
 public:
  void send(subnet::Packet packet) override { sent.push_back(std::move(packet)); }
  void on_order() override { ++orders; }
  std::vector<subnet::Packet> take() { return std::exchange(sent, {}); }

  std::vector<subnet::Packet> sent;
  unsigned orders = 0;
};

}  // namespace paravane::fake
