// Makes the messages of the connection manager from values (IBTA volume 1, 12.6), and the two
// numbers by which both ends name a connection.
//
// A request is filled in as Linux's ib_cm does it over RoCE, and as it takes it: a route with more
// than one hop, so the subnet is not local and the LIDs are the permissive one, and no alternate
// path. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "connection/connection_events.h"
#include "wire/infiniband/communication.h"

namespace paravane::connection {

// What both ends of a connection call it, and the transaction of the exchange at hand.
struct Names {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
  std::uint64_t transaction = 0;
};

// How long an end takes to answer at most, as both ends are told: 1.07 s (a code, 12.9.8).
inline constexpr std::uint8_t kResponseTimeCode = 18;
inline constexpr std::uint8_t kMostRetries = 15;  // all that 4 bits can say
inline constexpr std::uint8_t kHopLimit = 64;

// REQUIRES: the request's values fit their fields (is_possible()).
wire::infiniband::ConnectionRequest make_request(const ConnectRequest& request, const Names& names);
// Whether each value fits its field.
bool is_possible(const ConnectRequest& request);

wire::infiniband::ReadyToUse make_ready_to_use(const Names& names);
wire::infiniband::DisconnectRequest make_disconnect_request(const Names& names,
                                                            std::uint32_t remote_qp);
wire::infiniband::DisconnectReply make_disconnect_reply(const Names& names);

struct RejectWords {
  wire::infiniband::AnsweredMessage message{};
  std::uint16_t reason = 0;
  std::span<const std::byte> info{};          // at most kRejectInfoBytes
  std::span<const std::byte> private_data{};  // at most kRejectDataBytes
};
wire::infiniband::ConnectionReject make_reject(const Names& names, const RejectWords& words);

// The bytes of a message, which are those of a MAD.
template <typename Message>
std::span<const std::byte, wire::infiniband::kMadBytes> bytes_of(const Message& message) {
  static_assert(sizeof(Message) == wire::infiniband::kMadBytes);
  return std::as_bytes(std::span<const Message, 1>(&message, 1));
}

}  // namespace paravane::connection
