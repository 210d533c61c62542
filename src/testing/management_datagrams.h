// Management datagrams and packets of an InfiniBand subnet, as tests and fuzzers make and read
// them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "wire/infiniband/datagram.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/performance.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::fake {

using Smp = wire::infiniband::SubnetManagementPacket;
using RoutePath = std::vector<std::uint8_t>;  // a port for each hop

// ---- Attributes; `Mad` is an Smp or a PerformancePacket ----

template <typename Attribute, typename Mad>
Attribute attribute_in(const Mad& mad) {
  static_assert(sizeof(Attribute) <= sizeof mad.data);
  Attribute value;
  std::memcpy(&value, mad.data.data(), sizeof value);
  return value;
}
template <typename Attribute, typename Mad>
void put_attribute_in(Mad& mad, const Attribute& value) {
  static_assert(sizeof(Attribute) <= sizeof mad.data);
  mad.data.fill(std::byte{0});
  std::memcpy(mad.data.data(), &value, sizeof value);
}

// ---- Subnet management ----

inline Smp smp_of(std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier = 0) {
  Smp smp;
  smp.header.management_class = wire::infiniband::management_class::kSubnetByLid;
  smp.header.method = method;
  smp.header.attribute.set(attribute);
  smp.header.modifier.set(modifier);
  return smp;
}
inline Smp get_of(std::uint16_t attribute, std::uint32_t modifier = 0) {
  return smp_of(wire::infiniband::method::kGet, attribute, modifier);
}
template <typename Attribute>
Smp set_of(std::uint16_t attribute, const Attribute& value, std::uint32_t modifier = 0) {
  Smp smp = smp_of(wire::infiniband::method::kSet, attribute, modifier);
  put_attribute_in(smp, value);
  return smp;
}

constexpr std::uint16_t hops_of(unsigned pointer, unsigned count) {
  return static_cast<std::uint16_t>((pointer << 8) | count);
}
// The same on a directed route from its requester, with no part by LID.
inline Smp directed(Smp smp, const RoutePath& path) {
  smp.header.management_class = wire::infiniband::management_class::kSubnetByRoute;
  smp.header.class_specific.set(hops_of(0, static_cast<unsigned>(path.size())));
  smp.source.set(wire::infiniband::kPermissiveLid);
  smp.destination.set(wire::infiniband::kPermissiveLid);
  std::ranges::copy(path, smp.initial_path.begin() + 1);
  return smp;
}
// As it is on the first link of its route.
inline Smp departed(Smp smp, const RoutePath& path) {
  smp = directed(std::move(smp), path);
  smp.header.class_specific.set(hops_of(1, static_cast<unsigned>(path.size())));
  return smp;
}

// Without the bit of the direction.
template <typename Mad>
std::uint16_t status_of(const Mad& mad) {
  return static_cast<std::uint16_t>(mad.header.status.get() & ~wire::infiniband::kReturning);
}

// ---- Packets ----

template <typename Mad>
std::span<const std::byte> mad_bytes(const Mad& mad) {
  static_assert(sizeof mad == wire::infiniband::kMadBytes);
  return std::as_bytes(std::span(&mad, 1));
}

inline std::vector<std::byte> packet_with(const wire::infiniband::DatagramHeaders& headers,
                                          std::span<const std::byte> payload) {
  std::vector<std::byte> packet;
  wire::infiniband::write_datagram(headers, payload, packet);
  return packet;
}
inline std::vector<std::byte> smp_packet(const Smp& smp,
                                         std::uint16_t to = wire::infiniband::kPermissiveLid,
                                         std::uint16_t from = wire::infiniband::kPermissiveLid) {
  return packet_with({.source = from, .destination = to, .lane = wire::infiniband::kManagementLane},
                     mad_bytes(smp));
}
// What a general service agent sends.
inline wire::infiniband::DatagramHeaders service_headers(std::uint16_t from, std::uint16_t to) {
  return {.source = from,
          .destination = to,
          .qkey = wire::infiniband::kServiceQkey,
          .source_qp = wire::infiniband::kServiceQueuePair,
          .destination_qp = wire::infiniband::kServiceQueuePair};
}

template <typename Mad>
Mad mad_in(std::span<const std::byte> packet) {
  static_assert(sizeof(Mad) == wire::infiniband::kMadBytes);
  Mad mad;
  const auto read = wire::infiniband::read_datagram(packet);
  if (read && read->payload.size() == sizeof mad)
    std::memcpy(&mad, read->payload.data(), sizeof mad);
  return mad;
}

}  // namespace paravane::fake
