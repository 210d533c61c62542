// PortCaptures: the captures of ports of this host's InfiniBand adapters. A packet is captured as
// it is on a wire, with its checksums, in an ERF record (text/erf.h).
//
// The subnet's thread only. That fills the buffers of captures, which the control thread empties.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/instant.h"
#include "capture/capture.h"
#include "capture/running_captures.h"
#include "subnet/host_adapter.h"
#include "subnet/packet_observer.h"

namespace paravane::subnet_host {

class PortCaptures {
 public:
  // Starts a capture, whose one interface is the port, and ends another one of this port.
  void start(std::shared_ptr<capture::Capture> capture, subnet::HostAdapter& adapter,
             subnet::PortNumber port);
  // A missing capture is not an error.
  void end(std::uint64_t id) { running_.end(id); }
  // Ends the captures of an adapter, which goes.
  void forget(const subnet::HostAdapter& adapter);

  // Ends captures that no client has read for kCaptureReaderSeconds.
  void on_time(Instant now) { running_.end_unread(now); }
  Instant next_deadline() const { return running_.next_end(); }

 private:
  // Observes a port until it is destroyed.
  class Watch final : public subnet::PacketObserver {
   public:
    // `adapter` outlives us, and so does the ring of `capture`.
    Watch(subnet::HostAdapter& adapter, subnet::PortNumber port, capture::Capture& capture);
    ~Watch() override;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    const subnet::HostAdapter& adapter() const { return adapter_; }
    subnet::PortNumber port() const { return port_; }

    // ---- PacketObserver ----
    void on_sent(std::span<const std::byte> packet) override { show(packet, true); }
    void on_received(std::span<const std::byte> packet) override { show(packet, false); }

   private:
    void show(std::span<const std::byte> packet, bool is_outbound);

    subnet::HostAdapter& adapter_;
    const subnet::PortNumber port_;
    const std::size_t keep_bytes_;  // of each packet; 0: all
    capture::PacketRing& ring_;
    std::vector<std::byte> record_;  // of one packet, reused
  };

  capture::RunningCaptures<Watch> running_;
};

}  // namespace paravane::subnet_host
