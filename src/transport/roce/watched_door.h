// WatchedDoor shows the observer of an adapter each frame that passes the adapter's door. Without
// an observer, the cost is one check of a null pointer per frame.
//
// Owner thread only.

#pragma once

#include "transport/roce/frame_door.h"
#include "verbs/adapter.h"
#include "verbs/observer.h"

namespace paravane::transport_roce {

class WatchedDoor final : public FrameDoor {
 public:
  // Both outlive the door.
  WatchedDoor(verbs::Adapter& adapter, FrameDoor& door) : adapter_(adapter), door_(door) {}

  std::optional<Received> receive() override {
    const std::optional<Received> received = door_.receive();
    if (received) tell(verbs::Direction::kIn, received->bytes, received->segment_bytes);
    return received;
  }
  bool send(const wire::roce::SuperframeWriter::Whole& whole) override {
    if (!door_.send(whole)) return false;
    tell(verbs::Direction::kOut, whole.frame, whole.segment_bytes);
    return true;
  }
  std::uint32_t mtu() const override { return door_.mtu(); }
  std::size_t most_packets() const override { return door_.most_packets(); }

 private:
  void tell(verbs::Direction direction, std::span<const std::byte> frame,
            std::size_t segment_bytes) {
    adapter_.observe(
        [&](verbs::Observer& observer) { observer.on_frame(direction, frame, segment_bytes); });
  }

  verbs::Adapter& adapter_;
  FrameDoor& door_;
};

}  // namespace paravane::transport_roce
