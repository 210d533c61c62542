#include "subnet_host/host_infiniband.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/infiniband_json.h"
#include "base/socket_use.h"
#include "base/unix_listener.h"
#include "json/json_reader.h"
#include "model/ib_device.h"
#include "model/machine.h"
#include "subnet_host/port_status.h"
#include "subnet_host/uplink_status.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using model::ApiResult;

constexpr const char* kAdapterKind = "ib_adapter";  // of documents in the store
// As operators call them (LeftOut::kind).
constexpr std::string_view kAdapterWord = "InfiniBand adapter";
constexpr const char* kListAdapters =
    "List the InfiniBand adapters with: paravane infiniband adapter list";

std::unexpected<model::ApiError> thread_is_busy() {
  return model::refuse(ApiErrorCode::kBusy,
                       "the InfiniBand subnet's thread did not respond in time", "Try again.");
}

std::unexpected<model::ApiError> no_such_adapter(const std::string& name) {
  return model::refuse(ApiErrorCode::kNotFound,
                       fmt::format("there is no InfiniBand adapter {}", name), kListAdapters);
}

subnet::Speed speed_of(std::uint32_t rate_gbps) {
  if (rate_gbps >= 40) return subnet::Speed::kQuad;
  return rate_gbps >= 20 ? subnet::Speed::kDouble : subnet::Speed::kSingle;
}

// REQUIRES: a device of the table.
subnet::AdapterModel model_of(const model::IbAdapter& adapter) {
  const model::IbDevice device = *model::find_ib_device(adapter.device);
  return {.name = std::string(device.name),
          .device_id = device.pci_device,
          .ports = static_cast<std::uint8_t>(device.ports),
          .speed = speed_of(device.rate_gbps),
          .mtu = device.mtu > 2048 ? wire::infiniband::Mtu::k4096 : wire::infiniband::Mtu::k2048,
          .partitions = static_cast<std::uint16_t>(device.partitions)};
}

store::DeviceRange uplink_range(const std::set<unsigned>& nic_numbers) {
  return {
      .first = model::kFirstIpoibUplink, .count = model::kMaxIpoibUplinks, .barred = nic_numbers};
}

// What a number belongs to. A port has one uplink so far, the one of index 0.
std::string identity_of(const std::string& adapter, std::uint32_t port) {
  return fmt::format("{}/{}/0", adapter, port);
}

}  // namespace

HostInfiniband::HostInfiniband(HostInfinibandConfig config, store::Store& store)
    : config_(std::move(config)), store_(store), numbers_(model::kNicPrefix, {}) {}

HostInfiniband::~HostInfiniband() {
  end_thread();
}

ApiResult<void> HostInfiniband::load() {
  const auto kept = store_.documents(kAdapterKind);
  if (!kept) return std::unexpected(kept.error());
  for (const auto& [name, value] : *kept) {
    const auto adapter = api::kept_ib_adapter_from_json(value);
    if (adapter && adapter->name == name) {
      adapters_[name] = *adapter;
    } else {
      store_.leave_out(kAdapterKind, name,
                       adapter ? "its name is " + adapter->name : adapter.error().message);
    }
  }
  return load_uplinks();
}

void HostInfiniband::begin(bool follows) {
  const SocketUse use = look_at_socket(config_.umad_socket).use;
  // Of an engine that has ended: an engine that serves may not ask whether a socket is in use.
  const bool is_left = use == SocketUse::kStale || (follows && use == SocketUse::kUnknown);
  if (is_left) ::unlink(config_.umad_socket.c_str());
  keep_numbers();
  for (const auto& [name, adapter] : adapters_) {
    if (const auto made = make(adapter); !made) {
      log_.error(std::chrono::steady_clock::now(), "InfiniBand adapter {}: {}", name,
                 made.error().message);
    }
  }
}

// ---- The thread ----

ApiResult<void> HostInfiniband::ensure_thread() {
  if (thread_) return {};
  auto started =
      SubnetThread::start({.host = config_.host,
                           .switch_guid = guid_of("switch"),
                           .uplink_lost = [this](const std::string& uplink) { tell_lost(uplink); },
                           .trouble = [this](const std::string& why) { tell_trouble(why); }});
  if (!started) return model::refuse(ApiErrorCode::kInternal, started.error().message);
  thread_ = std::move(*started);
  auto opened = open_door();
  if (!opened) end_thread();
  return opened;
}

ApiResult<void> HostInfiniband::open_door() {
  auto listener = listen_at(config_.umad_socket, SOCK_SEQPACKET, config_.umad_access);
  if (!listener) return model::refuse(ApiErrorCode::kInternal, listener.error().message);
  has_door_ = true;
  auto shared = std::make_shared<UniqueFd>(std::move(*listener));
  const auto opened = thread_->ask(
      [thread = thread_.get(), shared] { return thread->door().open(std::move(*shared)); });
  if (!opened) return thread_is_busy();
  if (!*opened) return model::refuse(ApiErrorCode::kInternal, opened->error().message);
  return {};
}

void HostInfiniband::end_thread() {
  if (!thread_) return;
  thread_.reset();
  // What stands there may be another's, if ours could not be made.
  if (std::exchange(has_door_, false)) ::unlink(config_.umad_socket.c_str());
}

std::uint64_t HostInfiniband::guid_of(const std::string& node) const {
  return model::ib_guid_for_name(config_.address_seed + "/infiniband/" + node);
}

ApiResult<void> HostInfiniband::make(const model::IbAdapter& adapter) {
  if (auto ready = ensure_thread(); !ready) return ready;
  const std::uint64_t guid = guid_of("adapter " + adapter.name);
  const auto made = thread_->ask([thread = thread_.get(), adapter, guid] {
    return thread->subnet().add(adapter.name, model_of(adapter), guid) != nullptr;
  });
  if (!made) return thread_is_busy();
  if (!*made)
    return model::refuse(ApiErrorCode::kInternal,
                         fmt::format("the subnet has no room for adapter {}", adapter.name));
  return {};
}

// ---- IPoIB uplinks ----

ApiResult<void> HostInfiniband::load_uplinks() {
  const auto documents = store_.documents(kUplinkNumberKind);
  if (!documents) return std::unexpected(documents.error());
  std::map<std::string, std::string> known;
  for (const auto& [name, value] : *documents) {
    JsonReader reader(value, name);
    std::string identity = reader.need_text("identity");
    if (const Status good = reader.finish_ignoring_unknown(); !good) {
      log_.warn(std::chrono::steady_clock::now(), "{}: its number is lost: {}", name,
                good.error().message);
      continue;
    }
    known[name] = std::move(identity);
  }
  numbers_ = store::DeviceNumbers(model::kNicPrefix, known, uplink_range(config_.nic_numbers));
  number_uplinks();
  return {};
}

void HostInfiniband::number_uplinks() {
  std::vector<const model::IbAdapter*> by_bus;
  for (const auto& [name, adapter] : adapters_) by_bus.push_back(&adapter);
  std::ranges::sort(by_bus, {}, [](const model::IbAdapter* adapter) { return adapter->bus; });
  std::vector<Uplink> ports;
  std::vector<std::string> identities;
  for (const model::IbAdapter* adapter : by_bus) {
    const std::uint32_t last = model::find_ib_device(adapter->device)->ports;
    for (std::uint32_t port = 1; port <= last; ++port) {
      ports.push_back({.name = {}, .adapter = adapter->name, .port = port});
      identities.push_back(identity_of(adapter->name, port));
    }
  }
  const std::vector<std::string> names = numbers_.name(identities);
  uplinks_.clear();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].name = names[i];
    if (!names[i].empty()) uplinks_.push_back(std::move(ports[i]));
  }
}

// A disk that is full is no reason to have no uplinks.
void HostInfiniband::keep_numbers() {
  for (const auto& [name, identity] : numbers_.take_changes()) {
    const auto kept = store_.put_document(kUplinkNumberKind, name, {{"identity", identity}});
    if (kept) continue;
    log_.warn(std::chrono::steady_clock::now(), "{}: cannot save its number: {}", name,
              kept.error().message);
  }
}

void HostInfiniband::change_uplinks() {
  number_uplinks();
  keep_numbers();
  if (config_.uplinks_changed) config_.uplinks_changed();
}

std::vector<std::string> HostInfiniband::uplinks() const {
  std::vector<std::string> names;
  for (const Uplink& uplink : uplinks_) names.push_back(uplink.name);
  return names;
}

void HostInfiniband::open_uplink(UplinkTap tap) {
  const auto uplink = std::ranges::find(uplinks_, tap.uplink, &Uplink::name);
  if (uplink == uplinks_.end() || !thread_) return;
  auto shared = std::make_shared<UplinkTap>(std::move(tap));
  thread_->post([thread = thread_.get(), of = *uplink, shared] {
    thread->open_uplink(of.adapter, static_cast<subnet::PortNumber>(of.port), std::move(*shared));
  });
}

void HostInfiniband::close_uplink(const std::string& uplink) {
  close_on_thread([uplink](HostUplinks& uplinks) { uplinks.close(uplink); });
}

void HostInfiniband::close_uplink(const std::string& uplink, std::uint32_t vlan) {
  close_on_thread([uplink, vlan](HostUplinks& uplinks) {
    uplinks.close(uplink, static_cast<std::uint16_t>(vlan));
  });
}

// On the subnet's thread.
void HostInfiniband::tell_lost(const std::string& uplink) {
  if (!config_.post || !config_.uplink_lost) return;
  config_.post([this, uplink] { config_.uplink_lost(uplink); });
}

void HostInfiniband::tell_trouble(const std::string& why) {
  if (!config_.post || !config_.tell) return;
  config_.post([this, why] {
    config_.tell(
        {.type = "infiniband.failed",
         .severity = model::Severity::kError,
         .fields = {{"reason", why}},
         .text = fmt::format("the InfiniBand subnet cannot wait for its sockets: {}", why)});
  });
}

void HostInfiniband::close_on_thread(std::function<void(HostUplinks&)> close) {
  if (!thread_) return;
  const auto act = [thread = thread_.get(), close = std::move(close)] {
    close(thread->uplinks());
    return true;
  };
  // A thread that does not answer closes it when it turns again.
  if (!thread_->ask(act)) thread_->post([act] { act(); });
}

ApiResult<void> HostInfiniband::check_unused(const std::string& adapter) const {
  if (!config_.use_of) return {};
  for (const Uplink& uplink : uplinks_) {
    if (uplink.adapter != adapter) continue;
    const std::string vds = config_.use_of(uplink.name).vds;
    if (vds.empty()) continue;
    return model::refuse(
        ApiErrorCode::kInUse,
        fmt::format("{}, which InfiniBand adapter {} makes of its port {}, is the uplink of switch "
                    "{}",
                    uplink.name, adapter, uplink.port, vds),
        fmt::format("Give the switch another uplink first: paravane vds uplink {} none (in a "
                    "cluster: on the authority's host)",
                    vds));
  }
  return {};
}

// ---- Captures ----

ApiResult<void> HostInfiniband::start_capture(const std::string& uplink,
                                              const std::shared_ptr<capture::Capture>& capture) {
  const auto of = std::ranges::find(uplinks_, uplink, &Uplink::name);
  if (of == uplinks_.end() || !thread_) {
    capture->end();
    return {};
  }
  const auto started = thread_->ask([thread = thread_.get(), of = *of, capture] {
    subnet::HostAdapter* node = thread->subnet().find(of.adapter);
    if (node == nullptr) {
      capture->end();
    } else {
      thread->captures().start(capture, *node, static_cast<subnet::PortNumber>(of.port));
    }
    return true;
  });
  if (!started) return thread_is_busy();
  return {};
}

ApiResult<void> HostInfiniband::end_capture(std::uint64_t id) {
  if (!thread_) return {};
  const auto ended = thread_->ask([thread = thread_.get(), id] {
    thread->captures().end(id);
    return true;
  });
  if (!ended) return thread_is_busy();
  return {};
}

// ---- InfinibandManagement ----

ApiResult<std::vector<model::IbAdapterStatus>> HostInfiniband::list_ib_adapters() {
  std::vector<model::IbAdapterStatus> list;
  for (const auto& [name, adapter] : adapters_) {
    auto status = status_of(adapter);
    if (!status) return std::unexpected(status.error());
    list.push_back(std::move(*status));
  }
  return list;
}

ApiResult<model::IbAdapterStatus> HostInfiniband::status_of(const model::IbAdapter& adapter) {
  const model::IbAdapterStatus absent{.adapter = adapter};
  if (!thread_) return absent;
  const auto status = thread_->ask([thread = thread_.get(), adapter]() -> model::IbAdapterStatus {
    const subnet::HostAdapter* node = thread->subnet().find(adapter.name);
    if (node == nullptr) return {.adapter = adapter};
    return subnet_host::status_of(adapter, *node);
  });
  if (!status) return thread_is_busy();
  return *status;
}

ApiResult<void> HostInfiniband::check_room(const model::IbAdapter& adapter) const {
  if (adapters_.contains(adapter.name)) {
    return model::refuse(ApiErrorCode::kExists,
                         fmt::format("InfiniBand adapter {} already exists", adapter.name),
                         "Choose another name, or remove that adapter first.");
  }
  if (const auto known = store_.find_left_out(kAdapterWord, adapter.name)) {
    return model::refuse(ApiErrorCode::kExists,
                         fmt::format("the record of InfiniBand adapter {} is damaged: {}",
                                     adapter.name, known->reason),
                         known->remedy);
  }
  for (const auto& [name, other] : adapters_) {
    if (other.bus != adapter.bus) continue;
    return model::refuse(
        ApiErrorCode::kExists,
        fmt::format("PCI bus {} already has InfiniBand adapter {}", other.bus, name),
        "Choose another bus.");
  }
  if (adapters_.size() >= model::kMaxIbAdapters) {
    return model::refuse(
        ApiErrorCode::kLimitReached,
        fmt::format("the limit of {} InfiniBand adapters is reached", model::kMaxIbAdapters),
        "Remove an InfiniBand adapter first.");
  }
  return {};
}

ApiResult<model::IbAdapterStatus> HostInfiniband::add_ib_adapter(const model::IbAdapter& adapter) {
  if (auto room = check_room(adapter); !room) return std::unexpected(room.error());
  if (auto made = make(adapter); !made) {
    if (adapters_.empty()) end_thread();
    return std::unexpected(made.error());
  }
  auto kept = store_.put_document(kAdapterKind, adapter.name, api::to_json(adapter));
  if (!kept) {
    thread_->ask([thread = thread_.get(), adapter] {
      thread->remove(adapter.name);
      return true;
    });
    if (adapters_.empty()) end_thread();
    return std::unexpected(kept.error());
  }
  adapters_[adapter.name] = adapter;
  change_uplinks();
  tell("infiniband.adapter.added", adapter.name,
       fmt::format("InfiniBand adapter {} ({}) was added", adapter.name, adapter.device));
  return status_of(adapter);
}

ApiResult<void> HostInfiniband::remove_ib_adapter(const std::string& name) {
  if (!adapters_.contains(name)) {
    if (const auto known = store_.find_left_out(kAdapterWord, name))
      return store_.erase_left_out(*known);
    return no_such_adapter(name);
  }
  if (auto unused = check_unused(name); !unused) return unused;
  if (auto erased = store_.erase_document(kAdapterKind, name); !erased) return erased;
  adapters_.erase(name);
  if (adapters_.empty()) {
    end_thread();
  } else {
    thread_->post([thread = thread_.get(), name] { thread->remove(name); });
  }
  change_uplinks();
  tell("infiniband.adapter.removed", name, fmt::format("InfiniBand adapter {} was removed", name));
  return {};
}

ApiResult<std::vector<model::IbUplink>> HostInfiniband::list_ib_uplinks() {
  std::vector<model::IbUplink> list;
  for (const Uplink& uplink : uplinks_) {
    model::IbUplink& status = list.emplace_back();
    status.name = uplink.name;
    status.adapter = uplink.adapter;
    status.device = adapters_.at(uplink.adapter).device;
    status.port = uplink.port;
    if (!config_.use_of) continue;
    HostInfinibandConfig::Use use = config_.use_of(uplink.name);
    status.vds = std::move(use.vds);
    status.mtu = use.mtu;
  }
  if (!thread_) return list;
  auto known = thread_->ask([thread = thread_.get(), list]() mutable {
    for (model::IbUplink& status : list) {
      const subnet::HostAdapter* node = thread->subnet().find(status.adapter);
      if (node == nullptr) continue;
      const auto port = static_cast<subnet::PortNumber>(status.port);
      add_status(*node->port(port), thread->uplinks().find(status.name), status);
    }
    return list;
  });
  if (!known) return thread_is_busy();
  return std::move(*known);
}

ApiResult<model::IbFabric> HostInfiniband::ib_fabric() {
  if (!thread_) return model::IbFabric{.host = config_.host};
  const auto fabric = thread_->ask(
      [thread = thread_.get(), host = config_.host] { return fabric_of(host, thread->subnet()); });
  if (!fabric) return thread_is_busy();
  return *fabric;
}

ApiResult<void> HostInfiniband::restart_infiniband() {
  end_thread();
  ApiResult<void> all;
  for (const auto& [name, adapter] : adapters_) {
    if (auto made = make(adapter); !made && all) all = std::move(made);
  }
  // Their taps were closed, also those of the adapters that were made beside one that was not.
  if (config_.uplink_lost) {
    for (const Uplink& uplink : uplinks_) config_.uplink_lost(uplink.name);
  }
  if (!all) return all;
  tell("infiniband.restarted", {}, "the host's InfiniBand adapters were made anew");
  return {};
}

void HostInfiniband::tell(const char* type, const std::string& adapter, std::string text) const {
  if (!config_.tell) return;
  model::Event event{.type = type, .text = std::move(text)};
  if (!adapter.empty()) event.fields = {{"adapter", adapter}};
  config_.tell(std::move(event));
}

}  // namespace paravane::subnet_host
