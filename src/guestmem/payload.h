// Copies the payload of RDMA requests from guest to guest, from guest to host, and from host to
// guest. Between two VMs of one host, this is the only copy.
//
// A program can poll the last byte of a buffer, so the order in which bytes become visible is
// guaranteed. All bytes before the last cache line of a destination become visible before that
// line. The line itself is written by ascending stores. The whole destination becomes visible
// before any later store of the caller.
//
// The functions return false if memory failed during the copy (SIGBUS). The copied data is then
// undefined, and GuestMemory::failed() reports which VM's memory has failed.
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

// REQUIRES: from.size() == to.size().
[[nodiscard]] bool copy_payload(const Extent& from, const Extent& to);

// REQUIRES: both sides have the same size.
[[nodiscard]] bool gather_payload(const ExtentList& from, std::span<std::byte> to);
[[nodiscard]] bool scatter_payload(std::span<const std::byte> from, const ExtentList& to);
[[nodiscard]] bool scatter_payload(std::span<const std::byte> from, const Extent& to);

}  // namespace paravane
