// Captures manages the active captures (recordings of a VM's traffic) and the sniffers that fill
// them. A capture that its client has not read for some time is ended.
//
// A Capture is shared by two threads. The worker's sniffers fill it, and the control thread takes
// packets out of it. Either thread can hold the last reference.
//
// Captures: worker thread only.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/limited_log.h"
#include "base/turn_clock.h"
#include "model/adapter_name.h"
#include "model/capture.h"
#include "sniff/packet_ring.h"
#include "sniff/sniffer.h"
#include "verbs/adapter.h"
#include "worker/tenant.h"

namespace paravane::worker {

inline constexpr std::size_t kCaptureRingBytes = std::size_t{4} << 20;

class Capture {
 public:
  // `adapters`: the VM's.
  Capture(std::uint64_t id, model::CaptureSpec spec, std::vector<model::AdapterName> adapters,
          Instant now)
      : id_(id),
        spec_(std::move(spec)),
        adapters_(std::move(adapters)),
        ring_(kCaptureRingBytes, static_cast<std::uint32_t>(adapters_.size())),
        last_read_(now) {}

  // ---- Any thread ----
  std::uint64_t id() const { return id_; }
  const model::CaptureSpec& spec() const { return spec_; }
  const std::vector<model::AdapterName>& adapters() const { return adapters_; }
  Instant last_read() const { return last_read_.load(std::memory_order_relaxed); }
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  model::CaptureStatus status() const;

  // ---- The control thread ---- Takes out the packets, up to the limit for one response.
  model::CapturePackets take(Instant now);

  // ---- The worker ----
  sniff::PacketRing& ring() { return ring_; }
  void end() { ended_.store(true, std::memory_order_release); }

 private:
  const std::uint64_t id_;
  const model::CaptureSpec spec_;
  const std::vector<model::AdapterName> adapters_;
  sniff::PacketRing ring_;
  std::atomic<Instant> last_read_;
  std::atomic<bool> ended_{false};
};

class Captures final : public Tenant {
 public:
  explicit Captures(const TurnClock& clock) : clock_(clock) {}
  ~Captures() override;
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // An adapter to capture, and its interface number in the capture.
  struct Place {
    verbs::Adapter* adapter;  // outlives us, but for forget()
    std::array<std::uint8_t, 6> mac;
    std::uint32_t interface;
  };
  // Starts a capture and stops any other capture of these adapters. Without adapters, the capture
  // has ended.
  void start(std::shared_ptr<Capture> capture, const std::vector<Place>& places);
  // A missing capture is not an error.
  void end(std::uint64_t id);
  // The adapter is being removed. A capture of this adapter only ends.
  void forget(verbs::Adapter& adapter);

  bool has_work() const override { return next_end() <= clock_.now; }
  Instant next_look() override { return next_end(); }
  // Ends captures that were not read for kCaptureReaderSeconds.
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  struct Watched {
    verbs::Adapter* adapter;
    std::unique_ptr<sniff::Sniffer> sniffer;
  };
  struct Active {
    std::shared_ptr<Capture> capture;
    std::vector<Watched> watched;
  };
  static void stop(Active& active);
  Instant next_end() const;

  const TurnClock& clock_;
  std::vector<Active> active_;
  LimitedLog left_;  // captures without a reader
};

}  // namespace paravane::worker
