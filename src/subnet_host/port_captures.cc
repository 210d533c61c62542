#include "subnet_host/port_captures.h"

#include <algorithm>
#include <utility>

#include "text/erf.h"
#include "wire/infiniband/checksums.h"
#include "wire/infiniband/datagram.h"

namespace paravane::subnet_host {

namespace erf = text::erf;
using wire::infiniband::PacketEnd;

// So that the lengths in the header of a record have room for it.
static_assert(erf::kHeaderBytes + wire::infiniband::kMostPacketBytes +
                  wire::infiniband::kMostEndBytes <=
              0xFFFF);

PortCaptures::Watch::Watch(subnet::HostAdapter& adapter, subnet::PortNumber port,
                           capture::Capture& capture)
    : adapter_(adapter), port_(port), keep_bytes_(capture.spec().snaplen), ring_(capture.ring()) {
  // So that no packet needs an allocation.
  record_.reserve(erf::kHeaderBytes + wire::infiniband::kMostPacketBytes +
                  wire::infiniband::kMostEndBytes);
  adapter_.set_observer(port_, this);
}

PortCaptures::Watch::~Watch() {
  adapter_.set_observer(port_, nullptr);
}

void PortCaptures::Watch::show(std::span<const std::byte> packet, bool is_outbound) {
  // No wire could have carried it: a port drops what is longer.
  if (packet.size() > wire::infiniband::kMostPacketBytes) return ring_.count_dropped(0, 1);
  const std::size_t on_wire = packet.size() + wire::infiniband::end_bytes(packet);
  const std::size_t kept = keep_bytes_ == 0 ? on_wire : std::min(keep_bytes_, on_wire);
  const std::size_t record_bytes = erf::kHeaderBytes + kept;
  if (!ring_.has_room(record_bytes)) return ring_.count_dropped(0, 1);

  const std::uint64_t now = capture::wall_clock_ns();
  const auto header = erf::header_of({.timestamp_ns = now,
                                      .kept_bytes = static_cast<std::uint16_t>(kept),
                                      .wire_bytes = static_cast<std::uint16_t>(on_wire)});
  record_.assign(header.begin(), header.end());
  record_.insert(record_.end(), packet.begin(), packet.end());
  if (kept > packet.size()) {
    const PacketEnd end(packet);
    record_.insert(record_.end(), end.bytes().begin(), end.bytes().end());
  }
  record_.resize(record_bytes);
  ring_.push({.timestamp_ns = now,
              .interface = 0,
              .original_bytes = static_cast<std::uint32_t>(erf::kHeaderBytes + on_wire),
              .kept_bytes = static_cast<std::uint32_t>(record_bytes),
              .is_outbound = is_outbound},
             record_);
}

void PortCaptures::start(std::shared_ptr<capture::Capture> capture, subnet::HostAdapter& adapter,
                         subnet::PortNumber port) {
  running_.forget_if([&adapter, port](const Watch& one) {
    return &one.adapter() == &adapter && one.port() == port;
  });
  std::vector<std::unique_ptr<Watch>> watches;
  watches.push_back(std::make_unique<Watch>(adapter, port, *capture));
  running_.add(std::move(capture), std::move(watches));
}

void PortCaptures::forget(const subnet::HostAdapter& adapter) {
  running_.forget_if([&adapter](const Watch& one) { return &one.adapter() == &adapter; });
}

}  // namespace paravane::subnet_host
