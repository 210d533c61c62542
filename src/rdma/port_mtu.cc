#include "rdma/port_mtu.h"

#include <infiniband/verbs.h>

#include <memory>
#include <span>

namespace paravane::rdma {
namespace {

struct FreeList {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
struct CloseDevice {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};

std::uint32_t mtu_of(ibv_device* device, std::uint32_t port) {
  const std::unique_ptr<ibv_context, CloseDevice> context(ibv_open_device(device));
  if (!context) return 0;
  ibv_port_attr attributes{};
  if (ibv_query_port(context.get(), static_cast<std::uint8_t>(port), &attributes) != 0) return 0;
  const auto mtu = static_cast<unsigned>(attributes.active_mtu);
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

}  // namespace

std::uint32_t active_mtu(const std::string& device, std::uint32_t port) {
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeList> list(ibv_get_device_list(&count));
  if (!list) return 0;
  for (ibv_device* one : std::span(list.get(), static_cast<std::size_t>(count))) {
    if (ibv_get_device_name(one) == device) return mtu_of(one, port);
  }
  return 0;
}

}  // namespace paravane::rdma
