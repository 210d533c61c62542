// Outlet collects the packets of one adapter into frames and sends them.
//
// Payload is copied out of guest memory once, into the frame. The guest may change its memory while
// a packet is under way, and a CRC that was calculated from other bytes than those that are sent
// would make the peer drop the packet.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/extent.h"
#include "transport/roce/frame_door.h"
#include "wire/roce/packet.h"
#include "wire/roce/superframe_writer.h"

namespace paravane::transport_roce {

class Outlet {
 public:
  Outlet() : writer_(1) {}

  // Sends through `door` from now on; null: nothing can be sent. What was collected is dropped.
  void use(FrameDoor* door);

  enum class Added : std::uint8_t {
    kDone,
    kFull,          // the door takes no more in this turn; nothing was added
    kMemoryFailed,  // the payload could not be read; nothing was added
  };
  // The packet's IPv4 identification is set here. `payload` has packet.payload_bytes.
  Added add(const wire::roce::Packet& packet, const ExtentList& payload);
  Added add(const wire::roce::Packet& packet, std::span<const std::byte> payload = {});

  // Sends what was collected, and what the door did not take before. Call it at the end of each
  // turn.
  void flush();
  // Whether flush() has something to send.
  bool holding() const { return !writer_.empty(); }

 private:
  template <typename Fill>
  Added add_with(const wire::roce::Packet& packet, Fill fill);

  FrameDoor* door_ = nullptr;
  wire::roce::SuperframeWriter writer_;
  std::uint16_t identification_ = 0;
};

}  // namespace paravane::transport_roce
