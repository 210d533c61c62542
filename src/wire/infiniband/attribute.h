// attribute_of() and put_attribute(): the attribute of a management datagram, which all classes
// have in a member `data` (subnet_management.h, performance.h), as a struct.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstring>

namespace paravane::wire::infiniband {

// `Attribute` has no padding and alignment 1.
template <typename Attribute, typename Packet>
Attribute attribute_of(const Packet& packet) {
  static_assert(alignof(Attribute) == 1 && sizeof(Attribute) <= sizeof packet.data);
  Attribute value;
  std::memcpy(&value, packet.data.data(), sizeof value);
  return value;
}

// What follows it is zero.
template <typename Attribute, typename Packet>
void put_attribute(const Attribute& value, Packet& packet) {
  static_assert(alignof(Attribute) == 1 && sizeof(Attribute) <= sizeof packet.data);
  packet.data.fill(std::byte{0});
  std::memcpy(packet.data.data(), &value, sizeof value);
}

}  // namespace paravane::wire::infiniband
