// RoceEngines: two adapters on one thread, each with a RoCE transport of its own, joined by memory.
// What posts requests and takes completions is no part of their turns.
//
// One thread.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "bench/roce_messages.h"
#include "bench/roce_pipe.h"
#include "testing/engine_rig.h"
#include "transport/roce/roce_transport.h"

namespace paravane::bench {

struct RoceCase {
  RoceMessages messages;
  std::uint64_t count;  // of messages
  bool cuts = false;    // superframes arrive in packets

  double packets() const {
    return static_cast<double>(count) * static_cast<double>(messages.packets());
  }
};

// Of the side that sends the payload, and of the one that receives it.
using RoceSeconds = std::array<double, 2>;

class RoceEngines : private fake::EngineRig {
 public:
  explicit RoceEngines(const RoceCase& what);
  ~RoceEngines() override;

  // Carries all messages; what the turns of each side took.
  RoceSeconds run();
  // What arrived is what was sent, and was sent once. Ends the program when it is not.
  void check();

 private:
  void post();
  double turn_of(unsigned side);

  const RoceCase case_;
  RocePipe pipe_;
  std::array<transport_roce::RoceTransport, 2> transports_{
      transport_roce::RoceTransport(turn_clock(), 0),
      transport_roce::RoceTransport(turn_clock(), 0)};
  std::array<std::unique_ptr<fake::EngineQp>, 2> qps_;
  std::array<fake::EngineBuffer, 2> data_;
};

}  // namespace paravane::bench
