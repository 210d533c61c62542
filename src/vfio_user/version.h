// Reads the VERSION request, in which a client announces its limits, and creates the server's
// response.
//
// A client that must be refused is refused here, because some VMMs crash if a later request is
// refused. The response is never longer than the request, because QEMU has no space for a longer
// one. The response announces only features that are implemented.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

// The limits of a client. The defaults are those that the protocol assumes if the client does not
// state them.
struct ClientLimits {
  std::uint16_t minor = 0;
  std::uint32_t max_fds = 1;               // descriptors in a message to it
  std::uint32_t max_data = kMaxDataBytes;  // bytes in a read or write; never more than ours
};

// `payload` is that of a VERSION request. Errors: why we refuse it.
std::expected<ClientLimits, std::string> read_version(std::span<const std::byte> payload);

// The JSON of our response, without its NUL, at most `room` characters long. If it does not fit,
// members are left out, whose defaults have the same meaning; in the last resort, the set of
// capabilities is empty.
std::string version_json(std::size_t room);

}  // namespace paravane::vfio_user
