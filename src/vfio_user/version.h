// The VERSION exchange: what a client announces, and the server's response.
//
// QEMU has room for a response as long as its request and no longer, and a client that must be
// refused has to be refused here, because later refusals crash some VMMs. The response announces
// only what is implemented.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

// What the protocol assumes of a client that says nothing.
struct ClientLimits {
  std::uint16_t minor = 0;
  std::uint32_t max_fds = 1;               // descriptors in a message to it
  std::uint32_t max_data = kMaxDataBytes;  // bytes in a read or write; never more than ours
};

// `payload` is that of a VERSION request. Errors: why we refuse it.
std::expected<ClientLimits, std::string> read_version(std::span<const std::byte> payload);

// The JSON of our answer, without its NUL, at most `room` characters long;
// less room means fewer members (each has a default that says the same), and
// the last resort is an empty set of capabilities.
std::string version_json(std::size_t room);

}  // namespace paravane::vfio_user
