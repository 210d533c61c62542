#include "rdma/port_verbs.h"

#include <infiniband/verbs.h>
#include <net/if.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace paravane::rdma {
namespace {

// The table of all ports of a device is passed in an attribute whose length has 16 bits.
constexpr std::size_t kMaxGids = UINT16_MAX / sizeof(ibv_gid_entry);

struct FreeList {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
struct CloseDevice {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};

std::uint32_t mtu_of(ibv_context* context, std::uint32_t port) {
  ibv_port_attr attributes{};
  if (ibv_query_port(context, static_cast<std::uint8_t>(port), &attributes) != 0) return 0;
  const auto mtu = static_cast<unsigned>(attributes.active_mtu);
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

std::string name_of(std::uint32_t interface) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(interface, name.data()) == nullptr ? std::string() : name.data();
}

bool read_gids(ibv_context* context, Port& port) {
  std::vector<ibv_gid_entry> entries(kMaxGids);
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  if (count < 0) return false;
  for (const auto& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
    if (entry.port_num != port.number) continue;
    port.roce_v1 = port.roce_v1 || entry.gid_type == IBV_GID_TYPE_ROCE_V1;
    port.roce_v2 = port.roce_v2 || entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    if (port.net_device.empty()) port.net_device = name_of(entry.ndev_ifindex);
  }
  return true;
}

bool read(ibv_device* device, Port& port) {
  const std::unique_ptr<ibv_context, CloseDevice> context(ibv_open_device(device));
  if (!context) return false;
  port.mtu = mtu_of(context.get(), port.number);
  return read_gids(context.get(), port);
}

}  // namespace

bool read_by_verbs(Port& port) {
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeList> list(ibv_get_device_list(&count));
  if (!list) return false;
  for (ibv_device* one : std::span(list.get(), static_cast<std::size_t>(count))) {
    if (ibv_get_device_name(one) == port.device) return read(one, port);
  }
  return false;
}

}  // namespace paravane::rdma
