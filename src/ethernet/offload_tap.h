// Both functions open an existing tap for this program, as different users need it.
//
// open_offload_tap(): for frames of several UDP packets at once. Each frame follows a vnet header
// (struct virtio_net_hdr, 10 bytes, little endian), in which either side leaves checksums and the
// segmentation to the other. If the kernel cannot segment UDP for a tap (before Linux 6.2), there
// is no header: it would be of no use, and these kernels fill in a checksum anywhere in a frame,
// also over its MAC addresses.
//
// open_frame_tap(): for frames as they are on a cable, one packet each. There is no header, and the
// kernel completes checksums and cuts segments apart before a frame is read.
//
// Most settings of a tap belong to the interface and outlive the descriptor, and a program that
// holds a descriptor can change them without a right: the offloads, the size and byte order of the
// header, the send buffer, both filters and the owner. So each call sets all of them.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::ethernet {

struct OpenTap {
  UniqueFd tap;  // does not block, closed by exec
  // Of the vnet header before each frame: 10, or 0 if each frame is one packet without a header.
  std::uint32_t header_bytes = 0;
};

// REQUIRES: `name` is the name of an interface. Needs CAP_NET_ADMIN, or to be the tap's owner.
// Errors: kBadState (another program has the tap open), kNotFound (it is gone, or would be gone
// when it is closed), kIo.
Result<OpenTap> open_offload_tap(const std::string& name);
// The descriptor does not block and is closed by exec. REQUIRES and errors: as above.
Result<UniqueFd> open_frame_tap(const std::string& name);

}  // namespace paravane::ethernet
