// One request of the transmission phase: its header as bytes, and what is wrong with it (proto.md,
// "Request message", "Request types" and "Error values").
//
// Any thread.

#pragma once

#include <cstdint>
#include <string_view>

#include "nbd/block_device.h"
#include "nbd/handshake.h"
#include "nbd/protocol.h"

namespace paravane::nbd {

struct Request {
  std::uint16_t flags = 0;
  Command command = Command::kRead;
  std::uint64_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

Request request_of(const RequestHeader& header);

struct Verdict {
  ReplyError error = ReplyError::kNone;  // kNone: the device may have the request
  // A correct client never sends such a request, whatever the device is.
  bool is_odd = false;
  std::string_view message{};  // for a person; a literal
};

// REQUIRES: not a kDisconnect.
Verdict judge(const Request& request, const Geometry& geometry, const Agreement& agreement);

// REQUIRES: the verdict has no error.
BlockOperation operation_of(Command command);

ReplyError error_of(BlockResult result);
std::string_view message_of(BlockResult result);

}  // namespace paravane::nbd
