#include "umad_library/addresses.h"

#include <endian.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <span>

#include "umad_library/notice.h"

namespace paravane::umad_library {
namespace {

// Both are the bytes of the kernel's struct: copied, not converted.
static_assert(sizeof(ib_mad_addr) == sizeof(umad::MadAddress));
static_assert(offsetof(ib_mad_addr, lid) == offsetof(umad::MadAddress, lid));
static_assert(offsetof(ib_mad_addr, grh_present) == offsetof(umad::MadAddress, has_global));
static_assert(offsetof(ib_mad_addr, traffic_class) == offsetof(umad::MadAddress, traffic_class));
static_assert(offsetof(ib_mad_addr, gid) == offsetof(umad::MadAddress, gid));
static_assert(offsetof(ib_mad_addr, flow_label) == offsetof(umad::MadAddress, flow_label));
static_assert(offsetof(ib_mad_addr, pkey_index) == offsetof(umad::MadAddress, partition_index));
static_assert(std::endian::native == std::endian::little, "partition_index");

}  // namespace

void set_address(ib_user_mad& mad, std::uint16_t lid_on_wire, std::uint32_t qp_on_wire, int level,
                 std::uint32_t qkey_on_wire) {
  mad.addr.qpn = qp_on_wire;
  mad.addr.lid = lid_on_wire;
  mad.addr.qkey = qkey_on_wire;
  mad.addr.sl = static_cast<std::uint8_t>(level);
}

void set_global_route(ib_user_mad& mad, const ib_mad_addr* route) {
  mad.addr.grh_present = route != nullptr ? 1 : 0;
  if (route == nullptr) return;
  std::memcpy(mad.addr.gid, route->gid, sizeof mad.addr.gid);
  mad.addr.flow_label = htobe32(route->flow_label);
  mad.addr.hop_limit = route->hop_limit;
  mad.addr.traffic_class = route->traffic_class;
}

umad::MadAddress to_door_address(const ib_mad_addr& address) {
  return std::bit_cast<umad::MadAddress>(address);
}

ib_mad_addr from_door_address(const umad::MadAddress& address) {
  ib_mad_addr result;
  std::memcpy(&result, &address, sizeof result);
  return result;
}

void show_address(const ib_mad_addr& address) {
  std::array<char, 400> text{};
  std::array<char, 2 * sizeof address.gid + 1> gid{};
  for (std::size_t i = 0; i < sizeof address.gid; ++i) {
    std::snprintf(&gid[2 * i], 3, "%02x", unsigned{address.gid[i]});
  }
  std::snprintf(text.data(), text.size(),
                "qpn %d qkey 0x%x lid %u sl %u\n"
                "grh_present %u gid_index %u hop_limit %u traffic_class %u flow_label 0x%x "
                "pkey_index 0x%x\n"
                "Gid 0x%s",
                static_cast<int>(be32toh(address.qpn)), be32toh(address.qkey),
                unsigned{be16toh(address.lid)}, unsigned{address.sl}, unsigned{address.grh_present},
                unsigned{address.gid_index}, unsigned{address.hop_limit},
                unsigned{address.traffic_class}, address.flow_label, unsigned{address.pkey_index},
                gid.data());
  warn("umad_addr_dump", text.data());
}

void show_header(const ib_user_mad& mad) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "agent id %d status %x timeout %d",
                static_cast<int>(mad.agent_id), mad.status, static_cast<int>(mad.timeout_ms));
  warn("umad_dump", text.data());
  show_address(mad.addr);
}

}  // namespace paravane::umad_library
