// Captures manages the active captures of VMs (recordings of their traffic) and the sniffers that
// fill them. A capture that its client has not read for some time is ended.
//
// Worker thread only.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/turn_clock.h"
#include "capture/capture.h"
#include "capture/running_captures.h"
#include "sniff/sniffer.h"
#include "verbs/adapter.h"
#include "worker/tenant.h"

namespace paravane::worker {

class Captures final : public Tenant {
 public:
  explicit Captures(const TurnClock& clock) : clock_(clock) {}

  // An adapter to capture, and its interface number in the capture.
  struct Place {
    verbs::Adapter* adapter;  // outlives us, but for forget()
    std::array<std::uint8_t, 6> mac;
    std::uint32_t interface;
  };
  // Starts a capture and stops any other capture of these adapters. Without adapters, the capture
  // has ended.
  void start(std::shared_ptr<capture::Capture> capture, const std::vector<Place>& places);
  // A missing capture is not an error.
  void end(std::uint64_t id) { running_.end(id); }
  // The adapter is being removed. A capture of this adapter only ends.
  void forget(const verbs::Adapter& adapter);

  bool has_work() const override { return running_.next_end() <= clock_.now; }
  Instant next_look() override { return running_.next_end(); }
  // Ends captures that were not read for kCaptureReaderSeconds.
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  // Watches an adapter until it is destroyed.
  class Watch {
   public:
    Watch(const Place& place, capture::Capture& capture);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    const verbs::Adapter& adapter() const { return adapter_; }

   private:
    verbs::Adapter& adapter_;
    sniff::Sniffer sniffer_;
  };

  const TurnClock& clock_;
  capture::RunningCaptures<Watch> running_;
};

}  // namespace paravane::worker
