// Builds the 40 bytes that precede the payload of every received datagram. They contain the network
// header as a real adapter would deliver it, from which programs and the kernel's CM read the
// sender's address:
//
//   RoCE v1          an InfiniBand GRH
//   RoCE v2, IPv6    an IPv6 header
//   RoCE v2, IPv4    20 zero bytes, then an IPv4 header (the zeros keep a
//                    reader from mistaking it for the other two)

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbs/completion.h"
#include "verbs/types.h"

namespace paravane::verbs {

// Whether the GID has the form ::ffff:a.b.c.d, which represents an IPv4 address.
bool is_ipv4_mapped(const Gid& gid);
bool is_multicast(const Gid& gid);

NetworkHeader network_header_of(GidType type, const Gid& sgid, const Gid& dgid);

// `av` is the sender's address vector (destination, flow label, traffic class, hop limit).
// `payload_bytes` counts the program's payload; `with_imm` adds the size of the immediate data's
// header.
GrhArea build_grh(GidType type, const Gid& sgid, const AddressVector& av,
                  std::uint32_t payload_bytes, bool with_imm);

}  // namespace paravane::verbs
