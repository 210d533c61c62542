// ServiceDoor is the RoCE port of an adapter of a host service. No guest's kernel is behind it, so
// beside RoCE, frames by which stations find each other's MAC addresses come and go through it:
// these are the resolver's. A frame that the resolver does not take is the RoCE transport's to
// count, so that a flood costs the port its right to be read.
//
// Owner thread only.

#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/turn_clock.h"
#include "neighbour/resolver.h"
#include "transport/roce/tap_door.h"

namespace paravane::worker {

class ServiceDoor final : public transport_roce::FrameDoor {
 public:
  // `clock` outlives it.
  ServiceDoor(std::unique_ptr<transport_roce::TapDoor> tap, const TurnClock& clock)
      : tap_(std::move(tap)), clock_(clock) {}
  ~ServiceDoor() override { use(nullptr); }

  // To be watched for input.
  int fd() const { return tap_->fd(); }
  const transport_roce::TapCounters& counters() const { return tap_->counters(); }
  // Which outlives its use; nullptr: none any more.
  void use(neighbour::Resolver* resolver) {
    if (resolver_ != nullptr) resolver_->use({});
    resolver_ = resolver;
    if (resolver_ == nullptr) return;
    resolver_->use([this](std::span<const std::byte> frame) {
      static_cast<void>(tap_->send({.frame = frame}));  // lost, as on a wire
    });
  }

  // ---- FrameDoor ----
  std::optional<Received> receive() override {
    for (;;) {  // the resolver takes a bounded number in a second
      const auto received = tap_->receive();
      const bool is_packet = received && received->segment_bytes == 0;
      if (!is_packet || resolver_ == nullptr || !resolver_->take(received->bytes, clock_.now)) {
        return received;
      }
    }
  }
  bool send(const wire::roce::SuperframeWriter::Whole& whole) override { return tap_->send(whole); }
  std::uint32_t mtu() const override { return tap_->mtu(); }
  std::size_t most_packets() const override { return tap_->most_packets(); }

 private:
  const std::unique_ptr<transport_roce::TapDoor> tap_;
  const TurnClock& clock_;
  neighbour::Resolver* resolver_ = nullptr;
};

}  // namespace paravane::worker
