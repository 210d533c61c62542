// TrafficStage: four VMs whose memory fails at one allocation in the middle of their traffic, and
// what must be true afterwards. VMs 0 (sends) and 1 (receives) have the traffic; 2 and 3 are
// connected to each other and have nothing to do with it.
//
// Owner thread only.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "traffic_party.h"
#include "traffic_rig.h"

namespace paravane::fake {

class TrafficStage;
using TrafficAct = std::function<void(TrafficStage&)>;

struct Traffic {
  PartyOptions sender{};
  PartyOptions receiver{};
  // Before the traffic, with enough memory.
  TrafficAct prepare = [](TrafficStage&) {};
  // With memory that fails once. Some time passes after each. They take no memory themselves.
  std::vector<TrafficAct> acts;
  // When nothing was lost: the bytes are where they should be.
  TrafficAct check = [](TrafficStage&) {};
};

inline constexpr std::uint32_t kTrafficQkey = 0x1111;

class TrafficStage {
 public:
  explicit TrafficStage(const Traffic& traffic);

  TrafficRig& rig() { return rig_; }
  TrafficParty& sender() { return sender_; }
  TrafficParty& receiver() { return receiver_; }
  bool is_datagram() const { return traffic_.sender.end.queues.type == kTypeUd; }

  // Runs the acts. True: an allocation failed.
  bool run_acts(std::uint64_t failing_allocation);
  bool any_lost() const { return rig_.is_lost(0) || rig_.is_lost(1); }
  // A completion queue that was full, and found no memory to hold a completion back.
  bool has_overrun(unsigned vm) { return rig_.device(vm).counters().cq_overruns.value() > 0; }

  // Of the VMs that have lost nothing, and of those that have.
  void expect_contained();
  // Every request that was posted has been answered, or is when its queue pair goes to ERR.
  void expect_answers();
  // Each survivor can connect to others.
  void expect_service();

 private:
  void expect_exchange(TrafficParty& from, TrafficParty& to);
  void expect_new_conversation(unsigned one, unsigned other);
  void expect_answers(unsigned vm, TrafficParty& party);
  void expect_overrun(TrafficParty& party);
  void expect_events(TrafficParty& party);

  const Traffic& traffic_;
  TrafficRig rig_;
  TrafficParty sender_;
  TrafficParty receiver_;
  TrafficParty third_{rig_.guest(2)};
  TrafficParty fourth_{rig_.guest(3)};
  std::array<device::DeviceObjects, TrafficRig::kVms> before_;
};

}  // namespace paravane::fake
