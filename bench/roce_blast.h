// RoceBlast: the superframes of RDMA messages between two RoCE ports, with their ICRCs written and
// read, and no protocol: what the wire and the processors carry. No more packets are under way than
// a queue pair would have, since taps drop what they cannot hold.
//
// The benchmark's thread.

#pragma once

#include <array>
#include <cstdint>

#include "bench/question.h"
#include "bench/roce_messages.h"
#include "bench/roce_networks.h"
#include "bench/traffic.h"
#include "transport/roce/tap_door.h"

namespace paravane::bench {

class RoceBlast {
 public:
  // On ports of their own.
  RoceBlast(const Settings& settings, RoceNetworks& networks, Arrival arrival);

  // Moves about so many bytes of payload.
  Traffic move(const RoceMessages& messages, std::uint64_t bytes);
  // Microseconds that a packet of 8 bytes takes there and back.
  double there_and_back(std::uint64_t rounds);

 private:
  using Door = transport_roce::TapDoor;
  // Until the bridges know where both ports are.
  void settle();

  Cores cores_;
  std::array<Door, 2> doors_;
};

}  // namespace paravane::bench
