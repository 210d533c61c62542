// The 40 bytes in front of every received datagram's payload: the network header as a real adapter
// would deliver it. Programs and the kernel's CM read the sender's address from them.
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

using GrhArea = std::array<std::byte, kGrhBytes>;

// ::ffff:a.b.c.d, how an IPv4 address looks as a GID.
bool is_ipv4_mapped(const Gid& gid);
bool is_multicast(const Gid& gid);

NetworkHeader network_header_of(GidType type, const Gid& sgid, const Gid& dgid);

// `av` is the sender's: destination, flow label, traffic class, hop limit.
// `payload_bytes` are the program's; `with_imm` adds the header they make.
GrhArea build_grh(GidType type, const Gid& sgid, const AddressVector& av,
                  std::uint32_t payload_bytes, bool with_imm);

}  // namespace paravane::verbs
