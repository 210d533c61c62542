// header_at() copies a header out of bytes from the network.
//
// A pure function; any thread.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>

namespace paravane::wire::roce {

// REQUIRES: the whole header lies in `bytes`.
template <typename Header>
Header header_at(std::span<const std::byte> bytes, std::size_t at = 0) {
  static_assert(alignof(Header) == 1);
  assert(at <= bytes.size() && sizeof(Header) <= bytes.size() - at);
  Header header;
  std::memcpy(&header, bytes.data() + at, sizeof header);
  return header;
}

}  // namespace paravane::wire::roce
