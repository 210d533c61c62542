// RoceRig: two adapters that reach each other by RoCE packets alone, over a wire of their own,
// stepped by hand in a time of its own.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "testing/engine_rig.h"
#include "testing/roce_wire.h"
#include "transport/roce/roce_transport.h"

namespace paravane::fake {

class RoceRig : public EngineRig {
 public:
  static constexpr bool kHasNoCredits = true;  // transport_conformance.h
  // Of packets of connections that name none: DSCP 26.
  static constexpr std::uint8_t kTrafficClass = 26 << 2;
  explicit RoceRig(std::size_t most_packets = 64, bool cuts = true,
                   std::uint64_t ram_bytes = 64 << 20);
  // Through these doors, which outlive the rig. `has_frames`: whether frames are under way.
  RoceRig(std::array<transport_roce::FrameDoor*, 2> doors, std::function<bool()> has_frames);
  ~RoceRig() override;

  RoceWire& wire() { return wire_; }
  transport_roce::RoceTransport& roce() { return roce_; }
  const transport_roce::RoceCounters& counters(unsigned side) const {
    return *roce_.counters_of(verbs::AdapterId{side});
  }

  // As EngineRig's; each knows the other's MAC address.
  void connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
               verbs::QpAttributes attributes = default_attributes(), std::uint8_t index = 0);
  // ---- As when the daemon of one side is replaced ---- `qps`: all that there are on that side.
  std::vector<std::byte> save(unsigned side, std::span<EngineQp* const> qps);
  // All of them end, and so does the adapter, which is made anew. What waits before its door is
  // lost, and the door is closed.
  void end_engine(unsigned side, std::span<EngineQp* const> qps);
  // Into the new adapter, whose door stays closed. Errors: the state is refused.
  Status load(unsigned side, std::span<const std::byte> state, std::span<EngineQp* const> qps);
  void open_door(unsigned side);

  static wire::roce::MacBytes mac(unsigned side) {
    return {0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(side + 1)};
  }

 protected:
  void turn_more(Instant now, verbs::Budget budget) override { roce_.poll(now, budget); }
  bool more_work() const override {
    return wire_.busy() || (has_frames_ && has_frames_()) || roce_.has_work();
  }

 private:
  void attach(std::array<transport_roce::FrameDoor*, 2> doors);

  RoceWire wire_;
  std::function<bool()> has_frames_;
  transport_roce::RoceTransport roce_{turn_clock(), kTrafficClass};
};

}  // namespace paravane::fake
