// SubnetRig: a host's part of a subnet with two adapters of one port, in a time that only the test
// moves, and a subnet manager at the first adapter, which has swept once.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/turn_clock.h"
#include "subnet/subnet.h"
#include "testing/subnet_manager.h"

namespace paravane::fake {

class SubnetRig {
 public:
  static constexpr std::uint64_t kSwitchGuid = 0x0202'0000'0000'0100;
  static constexpr std::uint64_t kFirstGuid = 0x0202'0000'0000'0200;  // of the node; its port: + 1
  static constexpr std::uint64_t kSecondGuid = 0x0202'0000'0000'0300;
  // More turns than any honest exchange takes.
  static constexpr unsigned kMostTurns = 1000;

  explicit SubnetRig(const subnet::AdapterModel& model = {.name = "Test"})
      : first(*subnet.add("first", model, kFirstGuid)),
        second(*subnet.add("second", model, kSecondGuid)),
        manager(first.mads(1), clock, [this] { settle(); }) {
    settle();
    manager.sweep();
  }

  // Until no packet moves. False: they still do.
  bool settle() {
    for (unsigned turns = 0; turns < kMostTurns; ++turns) {
      if (!subnet.turn()) return true;
    }
    return false;
  }
  void advance(Duration duration) {
    clock.now += duration;
    settle();
  }

  std::uint16_t first_lid() { return first.port(1)->lid(); }
  std::uint16_t second_lid() { return second.port(1)->lid(); }
  std::uint16_t switch_lid() { return subnet.the_switch().port(0)->lid(); }

  TurnClock clock{Instant(std::chrono::hours(1))};
  subnet::Subnet subnet{"host", kSwitchGuid, clock};
  subnet::HostAdapter& first;
  subnet::HostAdapter& second;
  SubnetManager manager;
};

}  // namespace paravane::fake
