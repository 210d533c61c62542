#include "transport/hca/verbs_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace paravane::transport_hca {
namespace {

// An IPv4 address in a GID: ::ffff:A.B.C.D.
bool is_ipv4(const ibv_gid& gid) {
  const std::span raw(gid.raw);
  return std::ranges::all_of(raw.first(10), [](std::uint8_t byte) { return byte == 0; }) &&
         raw[10] == 0xFF && raw[11] == 0xFF;
}

class DeviceList {
 public:
  DeviceList() : list_(ibv_get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_ != nullptr) ibv_free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  ibv_device* find(const std::string& name) const {
    const std::span devices(list_, list_ != nullptr ? static_cast<std::size_t>(count_) : 0);
    const auto found = std::ranges::find_if(
        devices, [&](ibv_device* device) { return ibv_get_device_name(device) == name; });
    return found == devices.end() ? nullptr : *found;
  }

 private:
  int count_ = 0;
  ibv_device** list_;
};

}  // namespace

void VerbsDevice::load_providers() {
  const DeviceList loaded;
}

VerbsDevice::~VerbsDevice() = default;

Result<std::shared_ptr<VerbsDevice>> VerbsDevice::open(const std::string& name, std::uint8_t port) {
  const DeviceList list;
  ibv_device* device = list.find(name);
  if (device == nullptr) return fail(Errc::kNotFound, fmt::format("no RDMA device {}", name));
  if (device->transport_type != IBV_TRANSPORT_IB) {
    return fail(Errc::kUnsupported, fmt::format("{} is iWARP", name));
  }
  std::shared_ptr<VerbsDevice> made(new VerbsDevice(name, port));
  made->context_.reset(ibv_open_device(device));
  if (!made->context_) return fail_by_system(Errc::kIo, fmt::format("cannot open {}", name), errno);
  made->domain_.reset(ibv_alloc_pd(made->context()));
  if (!made->domain_) {
    return fail_by_system(Errc::kIo, fmt::format("{}: no protection domain", name), errno);
  }
  if (const int error = ibv_query_port(made->context(), port, &made->attributes_); error != 0) {
    return fail_by_system(Errc::kIo, fmt::format("cannot query port {} of {}", port, name), error);
  }
  if (made->attributes_.state != IBV_PORT_ACTIVE) {
    return fail(Errc::kBadState, fmt::format("port {} of {} is {}", port, name,
                                             ibv_port_state_str(made->attributes_.state)));
  }
  if (const Status found = made->find_gid(); !found) return std::unexpected(found.error());
  return made;
}

// InfiniBand has one for sure.
Status VerbsDevice::find_gid() {
  const bool is_roce = attributes_.link_layer == IBV_LINK_LAYER_ETHERNET;
  const std::uint32_t wanted = is_roce ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  bool found = false;
  for (int index = 0; index < attributes_.gid_tbl_len; ++index) {
    ibv_gid_entry entry{};
    const auto at = static_cast<std::uint32_t>(index);
    if (ibv_query_gid_ex(context(), port_, at, &entry, 0) != 0 || entry.gid_type != wanted) {
      continue;
    }
    if (!found) gid_ = entry;
    found = true;
    if (!is_roce) break;
    if (is_ipv4(entry.gid)) {
      gid_ = entry;
      break;
    }
  }
  if (found) return {};
  return fail(Errc::kBadState, fmt::format("port {} of {} has no GID for RoCE v2", port_, name_));
}

}  // namespace paravane::transport_hca
