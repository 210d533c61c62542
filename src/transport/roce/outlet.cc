#include "transport/roce/outlet.h"

#include <algorithm>

#include "guestmem/payload.h"

namespace paravane::transport_roce {

using wire::roce::Packet;

void Outlet::use(FrameDoor* door) {
  door_ = door;
  if (door != nullptr) writer_ = wire::roce::SuperframeWriter(door->most_packets());
  writer_.clear();
}

template <typename Fill>
Outlet::Added Outlet::add_with(const Packet& packet, Fill fill) {
  if (door_ == nullptr) return Added::kFull;
  if (!writer_.takes(packet)) {
    flush();
    if (!writer_.takes(packet)) return Added::kFull;
  }
  Packet numbered = packet;
  numbered.identification = identification_;
  if (!fill(writer_.add(numbered))) {
    writer_.take_back();
    return Added::kMemoryFailed;
  }
  writer_.seal();
  ++identification_;
  return Added::kDone;
}

Outlet::Added Outlet::add(const Packet& packet, const ExtentList& payload) {
  return add_with(packet,
                  [&](std::span<std::byte> place) { return gather_payload(payload, place); });
}

Outlet::Added Outlet::add(const Packet& packet, std::span<const std::byte> payload) {
  return add_with(packet, [&](std::span<std::byte> place) {
    std::ranges::copy(payload, place.begin());
    return true;
  });
}

void Outlet::flush() {
  if (writer_.empty() || !door_->send(writer_.finish())) return;
  writer_.clear();
}

}  // namespace paravane::transport_roce
