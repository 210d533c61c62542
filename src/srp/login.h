// A login at an SRP target: its request in both forms, and what the target's answer is worth (r16a,
// 6.2 to 6.4).
//
// We ask for one connection (single channel) and name memory by one descriptor (direct). What an
// answer promises has bounds: a target that promises more is refused, where we would have to keep
// memory for it, and otherwise held to what we can use.
//
// Answers are private data of a connection manager's message, which may be longer. Pure functions;
// any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "srp/port_id.h"
#include "wire/srp/login.h"

namespace paravane::srp {

// Of an IU from the target: for each, memory waits.
inline constexpr std::uint32_t kMostTargetIuBytes = 8192;
inline constexpr std::uint32_t kMostRequestLimit = 65536;
// What we ask for. LIO answers with sense data that fit into as many bytes, and takes what is not
// above its attribute srp_max_req_size, which is 996 at least.
inline constexpr std::uint32_t kAskedIuBytes = 512;

struct LoginAsk {
  std::uint64_t tag = 0;
  PortId initiator{};
  PortId target{};
  std::uint32_t iu_bytes = kAskedIuBytes;
};

// For InfiniBand's connection manager, and for RDMA's.
std::array<std::byte, sizeof(wire::srp::LoginRequest)> login_request(const LoginAsk& ask);
std::array<std::byte, sizeof(wire::srp::RdmaLoginRequest)> rdma_login_request(const LoginAsk& ask);

struct LoginTerms {
  std::uint32_t request_limit = 0;            // 1 to kMostRequestLimit
  std::uint32_t most_initiator_iu_bytes = 0;  // 64 or more
  std::uint32_t most_target_iu_bytes = 0;     // 64 to kMostTargetIuBytes
  bool ended_others = false;  // an earlier connection of the same ports was ended for this one

  friend bool operator==(const LoginTerms&, const LoginTerms&) = default;
};
Result<LoginTerms> parse_login_response(std::span<const std::byte> bytes, const LoginAsk& ask);

struct LoginRejection {
  // As the target gave it: one of RejectReason, or one that we do not know.
  std::uint32_t reason = 0;
  std::string sentence{};  // why, and what to do

  friend bool operator==(const LoginRejection&, const LoginRejection&) = default;
};
// An error: the answer is no rejection of this login.
Result<LoginRejection> parse_login_reject(std::span<const std::byte> bytes, const LoginAsk& ask);

// The sentence for any reason.
std::string rejection_sentence(std::uint32_t reason, const PortId& initiator);

}  // namespace paravane::srp
