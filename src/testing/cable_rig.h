// CableRig: the subnets of two hosts with two adapters each, in a time that only the test moves,
// and a cable between them. `manager` is at this host and has not swept yet.

#pragma once

#include <memory>

#include "cable/cable.h"
#include "testing/cable_pipe.h"
#include "testing/subnet_rig.h"

namespace paravane::fake {

class CableRig {
 public:
  static constexpr std::uint64_t kOtherGuid = 0x0202'0000'0000'1000;  // of the other host's nodes

  CableRig()
      : other("other", kOtherGuid, here.clock),
        adapter(*other.add("third", {.name = "Test"}, kOtherGuid + 0x100)),
        cable(cable::Cable::attach("other", here.subnet, here.clock)),
        other_cable(cable::Cable::attach("host", other, here.clock)),
        manager(here.second.mads(1), here.clock, [this] { settle(); }) {}

  void connect() {
    pipe = CablePipe();
    cable->connect(pipe.one());
    other_cable->connect(pipe.other());
    settle();
  }
  // The manager at this host is heard at the other.
  void let_manage() { other.the_switch().let_manage(other_cable->port(), true); }

  // Until nothing moves at this time.
  bool settle() {
    for (unsigned turns = 0; turns < SubnetRig::kMostTurns; ++turns) {
      bool moves = false;
      for (cable::Cable* end : {cable.get(), other_cable.get()}) {
        end->heard_event();
        moves |= end->receive(1000) > 0;
      }
      moves |= here.subnet.turn();
      moves |= other.turn();
      for (cable::Cable* end : {cable.get(), other_cable.get()}) {
        end->on_time(here.clock.now);
        end->flush();
      }
      moves |= !pipe.to_one().bytes.empty() || !pipe.to_other().bytes.empty();
      if (!moves) return true;
    }
    return false;
  }
  // In steps in which nothing is missed.
  void advance(Duration duration) {
    const Instant end = here.clock.now + duration;
    while (here.clock.now < end) {
      here.clock.now = std::min(end, here.clock.now + std::chrono::milliseconds(50));
      settle();
    }
  }
  subnet::Port& port() { return *here.subnet.the_switch().port(cable->port()); }
  subnet::Port& other_port() { return *other.the_switch().port(other_cable->port()); }

  SubnetRig here;
  subnet::Subnet other;
  subnet::HostAdapter& adapter;  // of the other host
  CablePipe pipe;
  std::unique_ptr<cable::Cable> cable;
  std::unique_ptr<cable::Cable> other_cable;
  SubnetManager manager;
};

}  // namespace paravane::fake
