#include "wire/roce/frame.h"

#include <algorithm>

#include "wire/roce/frame_network.h"
#include "wire/roce/frame_transport.h"
#include "wire/roce/icrc.h"

namespace paravane::wire::roce {

std::expected<Frame, FrameFault> parse_frame(std::span<const std::byte> frame) {
  const auto envelope = open_envelope(frame);
  if (!envelope) return std::unexpected(envelope.error());
  std::expected<Frame, FrameFault> parsed;
  parsed->packet.route = envelope->route;
  parsed->packet.identification = envelope->identification;
  parsed->packet.may_be_fragmented = envelope->may_be_fragmented;
  if (const auto fault = read_transport(envelope->transport, *parsed)) {
    return std::unexpected(*fault);
  }
  // The two parts lie one behind the other.
  const std::span covered(envelope->network.data(),
                          envelope->network.size() + envelope->transport.size() - kIcrcBytes);
  if (!std::ranges::equal(icrc_of(envelope->route.network, covered),
                          envelope->transport.last(kIcrcBytes))) {
    return std::unexpected(FrameFault::kBadIcrc);
  }
  return parsed;
}

}  // namespace paravane::wire::roce
