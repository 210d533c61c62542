// Copies payload: guest to guest, guest to host, host to guest. The single copy of the local path
// happens here.
//
// Order of visibility (programs poll the last byte of a buffer): every byte before the last cache
// line of a destination is visible before that line, the line is written by ascending stores, and
// all of it is visible before anything that the caller stores afterwards.
//
// False means that memory failed during the copy (SIGBUS): the contents are undefined, and
// GuestMemory::failed() of each owner tells whose memory it was.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/extent.h"

namespace paravane {

// REQUIRES: from.total_bytes() == to.total_bytes().
[[nodiscard]] bool copy_payload(const ExtentList& from, const ExtentList& to);

// REQUIRES: the list and the span have the same size.
[[nodiscard]] bool gather_payload(const ExtentList& from, std::span<std::byte> to);
[[nodiscard]] bool scatter_payload(std::span<const std::byte> from, const ExtentList& to);

}  // namespace paravane
