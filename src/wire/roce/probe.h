// Defines the packets by which one engine asks another whether RoCE v2 gets through the routers
// between them: a probe, and the answer to it.
//
// Both have a code of those that the standard leaves to manufacturers (IBTA volume 1, table 38: 110
// and 111), and the queue pair 0, which no RoCE endpoint has (annex A16: there is no subnet
// management). An adapter that knows neither drops the packet (9.6.1), as rdma_rxe does for queue
// pair 0 before it looks at anything else. Another manufacturer may use the same code, so the
// payload begins with a word of ours. What follows is a number that the answer repeats.
//
// Plain values and pure functions; any thread.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/roce/opcode.h"
#include "wire/roce/packet.h"

namespace paravane::wire::roce {

// Random: whoever has not seen the probe cannot answer it.
using ProbeNonce = std::array<std::byte, 16>;

inline constexpr std::array<char, 8> kProbeMaker{'p', 'a', 'r', 'a', 'v', 'a', 'n', 'e'};

using ProbePayload = std::array<std::byte, kProbeMaker.size() + ProbeNonce{}.size()>;

constexpr bool is_probe(Opcode opcode) {
  return opcode == Opcode::kProbe || opcode == Opcode::kProbeAnswer;
}

inline ProbePayload probe_payload(const ProbeNonce& nonce) {
  ProbePayload payload{};
  const auto maker = std::as_bytes(std::span(kProbeMaker));
  std::ranges::copy(nonce, std::ranges::copy(maker, payload.begin()).out);
  return payload;
}

// `payload`: of a probe or its answer. nullopt: it is another manufacturer's packet.
inline std::optional<ProbeNonce> read_probe(std::span<const std::byte> payload) {
  const auto maker = std::as_bytes(std::span(kProbeMaker));
  if (payload.size() != ProbePayload{}.size() ||
      !std::ranges::equal(payload.first(maker.size()), maker)) {
    return std::nullopt;
  }
  ProbeNonce nonce;
  std::ranges::copy(payload.subspan(maker.size()), nonce.begin());
  return nonce;
}

// A probe or its answer over this route, whose payload is a ProbePayload.
inline Packet probe_packet(Opcode opcode, const Route& route) {
  Packet packet;
  packet.route = route;
  packet.opcode = opcode;
  packet.payload_bytes = ProbePayload{}.size();
  return packet;
}

}  // namespace paravane::wire::roce
