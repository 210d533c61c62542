#include "testing/roce_wire.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace paravane::fake {
namespace {

wire::roce::Network network_of(const FrameBytes& frame) {
  const auto high = std::to_integer<unsigned>(frame.at(12));
  const auto low = std::to_integer<unsigned>(frame.at(13));
  switch (high << 8 | low) {
    case wire::roce::kEtherTypeIpv4: return wire::roce::Network::kV2Ipv4;
    case wire::roce::kEtherTypeIpv6: return wire::roce::Network::kV2Ipv6;
    default: return wire::roce::Network::kV1;
  }
}

}  // namespace

RoceWire::RoceWire(std::size_t most_packets, bool cuts) : most_packets_(most_packets), cuts_(cuts) {
  for (unsigned side = 0; side < doors_.size(); ++side) {
    doors_.at(side).wire = this;
    doors_.at(side).side = side;
  }
}

bool RoceWire::busy() const {
  return !doors_[0].arriving.empty() || !doors_[1].arriving.empty();
}

void RoceWire::inject(unsigned side, FrameBytes frame) {
  if (doors_.at(side).arriving.size() >= most_arriving_) return;
  doors_.at(side).arriving.push_back({.bytes = std::move(frame)});
}

void RoceWire::deliver(unsigned from, FrameBytes frame) {
  if (!weather_) return inject(1 - from, std::move(frame));
  for (FrameBytes& arrives : weather_(from, std::move(frame))) inject(1 - from, std::move(arrives));
}

std::optional<transport_roce::FrameDoor::Received> RoceWire::Door::receive() {
  if (arriving.empty()) return std::nullopt;
  current = std::move(arriving.front());
  arriving.pop_front();
  return Received{.bytes = current.bytes, .segment_bytes = current.segment_bytes};
}

bool RoceWire::Door::send(const wire::roce::SuperframeWriter::Whole& whole) {
  Door& other = wire->doors_.at(1 - side);
  if (other.arriving.size() >= wire->room_) return false;
  ++sent;
  FrameBytes bytes(whole.frame.begin(), whole.frame.end());
  if (std::ranges::all_of(std::span(bytes).first<6>(),
                          [](std::byte b) { return b == std::byte{}; })) {
    std::memcpy(bytes.data(), &wire->macs_.at(1 - side), 6);
  }
  if (whole.segment_bytes == 0) {
    wire->deliver(side, bytes);
    return true;
  }
  if (!wire->cuts_) {
    other.arriving.push_back({.bytes = bytes, .segment_bytes = whole.segment_bytes});
    return true;
  }
  const wire::roce::Network network = network_of(bytes);
  const std::size_t payload = bytes.size() - whole.udp_at - sizeof(wire::roce::UdpHeader);
  const std::size_t count = (payload + whole.segment_bytes - 1) / whole.segment_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    wire->deliver(side, segment_of(network, bytes, whole.segment_bytes, i));
  }
  return true;
}

}  // namespace paravane::fake
