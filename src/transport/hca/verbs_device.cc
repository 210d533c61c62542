#include "transport/hca/verbs_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "transport/hca/verbs_port.h"

namespace paravane::transport_hca {
namespace {

// The table of all ports is passed in an attribute whose length has 16 bits.
constexpr std::size_t kMostGids = UINT16_MAX / sizeof(ibv_gid_entry);

// An IPv4 address in a GID: ::ffff:A.B.C.D.
bool is_ipv4(const ibv_gid& gid) {
  const std::span raw(gid.raw);
  return std::ranges::all_of(raw.first(10), [](std::uint8_t byte) { return byte == 0; }) &&
         raw[10] == 0xFF && raw[11] == 0xFF;
}

// `text`: an IP address, or empty.
bool is_address(const ibv_gid& gid, const std::string& text) {
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) {
    bytes[10] = bytes[11] = 0xFF;
    if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) != 1) return false;
  }
  return std::memcmp(gid.raw, bytes.data(), bytes.size()) == 0;
}

class DeviceList {
 public:
  DeviceList() : list_(ibv_get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_ != nullptr) ibv_free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  bool empty() const { return list_ == nullptr || count_ == 0; }
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

// In the sandbox, libibverbs cannot ask the kernel for the number of a driver. It finds only
// devices whose name or PCI numbers identify the provider, so neither siw nor an rxe with another
// name. The list that was read before is therefore kept.
const DeviceList& found_at_first() {
  static const DeviceList list;
  return list;
}

bool is_there_still(const ibv_device& device) {
  return ::access(static_cast<const char*>(device.ibdev_path), F_OK) == 0 &&
         ::access(static_cast<const char*>(device.dev_path), F_OK) == 0;
}

ibv_device* find_device(const DeviceList& now, const std::string& name) {
  if (ibv_device* device = now.find(name); device != nullptr) return device;
  ibv_device* device = found_at_first().find(name);
  return device != nullptr && is_there_still(*device) ? device : nullptr;
}

// Of guest memory: the adapter alone.
constexpr int kGuestMemoryAccess = IBV_ACCESS_LOCAL_WRITE;

class VerbsRegistration final : public MemoryRegistration {
 public:
  VerbsRegistration(std::shared_ptr<VerbsDevice> device, ibv_mr* region)
      : device_(std::move(device)), region_(region) {}
  ~VerbsRegistration() override { ibv_dereg_mr(region_); }
  VerbsRegistration(const VerbsRegistration&) = delete;
  VerbsRegistration& operator=(const VerbsRegistration&) = delete;

  std::uint32_t key() const override { return region_->lkey; }

 private:
  const std::shared_ptr<VerbsDevice> device_;
  ibv_mr* const region_;
};

}  // namespace

bool VerbsDevice::load_providers() {
  return !found_at_first().empty();
}

VerbsDevice::~VerbsDevice() = default;

Result<std::shared_ptr<TrunkDevice>> VerbsDevice::open(const TrunkAdapter& adapter) {
  const DeviceList list;
  ibv_device* device = find_device(list, adapter.device);
  if (device == nullptr) {
    return fail(Errc::kNotFound, fmt::format("there is no RDMA device {}", adapter.device));
  }
  if (device->transport_type != IBV_TRANSPORT_IB) {
    return fail(Errc::kUnsupported, fmt::format("{} is iWARP", adapter.device));
  }
  std::shared_ptr<VerbsDevice> made(new VerbsDevice(adapter));
  if (const Status opened = made->open_context(*device); !opened) {
    return std::unexpected(opened.error());
  }
  if (const Status found = made->find_gid(); !found) return std::unexpected(found.error());
  return made;
}

Status VerbsDevice::open_context(ibv_device& device) {
  context_.reset(ibv_open_device(&device));
  if (!context_) return fail_by_system(Errc::kIo, fmt::format("cannot open {}", name()), errno);
  if (::fcntl(fd(), F_SETFL, O_NONBLOCK) != 0) return fail_by_system(Errc::kIo, name(), errno);
  domain_.reset(ibv_alloc_pd(context()));
  if (!domain_) {
    return fail_by_system(Errc::kIo, fmt::format("{}: no protection domain", name()), errno);
  }
  if (const int error = ibv_query_port(context(), port(), &attributes_); error != 0) {
    return fail_by_system(Errc::kIo, fmt::format("cannot query port {} of {}", port(), name()),
                          error);
  }
  if (attributes_.state == IBV_PORT_ACTIVE) return {};
  return fail(Errc::kBadState, fmt::format("port {} of {} is not active ({})", port(), name(),
                                           ibv_port_state_str(attributes_.state)));
}

// A port of InfiniBand always has a GID.
Status VerbsDevice::find_gid() {
  const bool is_roce = attributes_.link_layer == IBV_LINK_LAYER_ETHERNET;
  const std::uint32_t wanted = is_roce ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  // Reads the whole table in one system call, because an adapter may have thousands of GIDs.
  std::vector<ibv_gid_entry> entries(kMostGids);
  const ssize_t count = ibv_query_gid_table(context(), entries.data(), entries.size(), 0);
  if (count < 0) {
    return fail_by_system(Errc::kIo, fmt::format("cannot read the GIDs of {}", name()),
                          static_cast<int>(-count));
  }
  int best = 0;
  for (const ibv_gid_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
    if (entry.port_num != port() || entry.gid_type != wanted || rank(entry) <= best) continue;
    best = rank(entry);
    gid_ = entry;
  }
  if (best > 0) return {};
  return fail(Errc::kBadState, fmt::format("port {} of {} has no GID for RoCE v2", port(), name()));
}

// The higher, the better.
int VerbsDevice::rank(const ibv_gid_entry& entry) const {
  if (is_address(entry.gid, adapter_.address)) return 3;
  return is_ipv4(entry.gid) ? 2 : 1;
}

Result<std::unique_ptr<FreshTrunkPort>> VerbsDevice::make_port() {
  auto port = VerbsPort::create(shared_from_this());
  if (!port) return std::unexpected(port.error());
  return std::move(*port);
}

Result<std::unique_ptr<MemoryRegistration>> VerbsDevice::register_memory(
    std::span<std::byte> bytes) {
  ibv_mr* region = ibv_reg_mr(domain_.get(), bytes.data(), bytes.size(), kGuestMemoryAccess);
  if (region != nullptr) return std::make_unique<VerbsRegistration>(shared_from_this(), region);
  const Errc code = errno == ENOMEM ? Errc::kResourceExhausted : Errc::kIo;
  return fail_by_system(code, fmt::format("{}: cannot register {} bytes", name(), bytes.size()),
                        errno);
}

bool VerbsDevice::is_there() const {
  return ::access(static_cast<const char*>(context_->device->dev_path), F_OK) == 0;
}

std::string VerbsDevice::take_trouble() {
  std::string trouble;
  ibv_async_event event{};
  while (trouble.empty() && ibv_get_async_event(context(), &event) == 0) {
    trouble = trouble_of(event);
    ibv_ack_async_event(&event);
  }
  return trouble;
}

std::string VerbsDevice::trouble_of(const ibv_async_event& event) const {
  const ibv_event_type type = event.event_type;
  if (type == IBV_EVENT_DEVICE_FATAL) return fmt::format("{} was removed or has failed", name());
  const bool is_of_port =
      type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_LID_CHANGE || type == IBV_EVENT_GID_CHANGE;
  if (!is_of_port || event.element.port_num != static_cast<int>(port())) return "";
  return fmt::format("port {} of {}: {}", port(), name(), ibv_event_type_str(type));
}

}  // namespace paravane::transport_hca
