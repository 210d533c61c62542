// Capture is the buffer of one capture (a recording of a VM's or a port's traffic), between the
// thread that fills it and the control thread, which takes packets out of it. It holds
// kRingBytes of packets; what does not fit is dropped and counted. Either thread can hold the last
// reference.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "capture/packet_ring.h"
#include "model/capture.h"

namespace paravane::capture {

// Of the packets of a capture. Nanoseconds since 1970, UTC.
std::uint64_t wall_clock_ns();

class Capture {
 public:
  static constexpr std::size_t kRingBytes = std::size_t{4} << 20;

  // `interfaces`: their names.
  Capture(std::uint64_t id, model::CaptureSpec spec, std::vector<std::string> interfaces,
          Instant now)
      : id_(id),
        spec_(std::move(spec)),
        interfaces_(std::move(interfaces)),
        ring_(kRingBytes, static_cast<std::uint32_t>(interfaces_.size())),
        last_read_(now) {}

  // ---- Any thread ----
  std::uint64_t id() const { return id_; }
  const model::CaptureSpec& spec() const { return spec_; }
  Instant last_read() const { return last_read_.load(std::memory_order_relaxed); }
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  model::CaptureStatus status() const;

  // ---- The control thread ---- Takes out the packets, up to the limit for one response.
  model::CapturePackets take(Instant now);

  // ---- The filling thread ----
  PacketRing& ring() { return ring_; }
  void end() { ended_.store(true, std::memory_order_release); }

 private:
  const std::uint64_t id_;
  const model::CaptureSpec spec_;
  const std::vector<std::string> interfaces_;
  PacketRing ring_;
  std::atomic<Instant> last_read_;
  std::atomic<bool> ended_{false};
};

}  // namespace paravane::capture
