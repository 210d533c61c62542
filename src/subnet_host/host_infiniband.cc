#include "subnet_host/host_infiniband.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "api/infiniband_json.h"
#include "base/memory_shortage.h"
#include "base/socket_use.h"
#include "base/unix_listener.h"
#include "model/ib_device.h"
#include "model/machine.h"
#include "subnet_host/port_status.h"
#include "subnet_host/refusals.h"
#include "subnet_host/subnet_parcel.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using model::ApiResult;

constexpr const char* kAdapterKind = "ib_adapter";  // of documents in the store
// As operators call them (LeftOut::kind).
constexpr std::string_view kAdapterWord = "InfiniBand adapter";
constexpr Duration kManagerComes = std::chrono::seconds(5);
constexpr const char* kRestart = "paravane infiniband restart";
constexpr const char* kListAdapters =
    "List the InfiniBand adapters with: paravane infiniband adapter list";

std::unexpected<model::ApiError> no_such_adapter(const std::string& name) {
  return model::refuse(ApiErrorCode::kNotFound,
                       fmt::format("there is no InfiniBand adapter {}", name), kListAdapters);
}

subnet::Speed speed_of(std::uint32_t rate_gbps) {
  if (rate_gbps >= 40) return subnet::Speed::kQuad;
  return rate_gbps >= 20 ? subnet::Speed::kDouble : subnet::Speed::kSingle;
}

// REQUIRES: a device of the table.
subnet::AdapterModel model_of(const model::IbAdapter& adapter, const model::IbAdapterTypes& types) {
  const model::IbDevice device = *model::find_ib_device(adapter.device);
  std::vector<bool> ethernet;
  for (std::uint32_t port = 1; port <= device.ports; ++port)
    ethernet.push_back(types.is_ethernet(port));
  return {.name = std::string(device.name),
          .device_id = device.pci_device,
          .ports = static_cast<std::uint8_t>(device.ports),
          .speed = speed_of(device.rate_gbps),
          .mtu = device.mtu > 2048 ? wire::infiniband::Mtu::k4096 : wire::infiniband::Mtu::k2048,
          .partitions = static_cast<std::uint16_t>(device.partitions),
          .ethernet = std::move(ethernet)};
}

}  // namespace

HostInfiniband::HostInfiniband(HostInfinibandConfig config, store::Store& store)
    : config_(std::move(config)),
      store_(store),
      modules_(store),
      net_queue_files_(config_.umad_socket.parent_path()),
      numbers_(model::kNicPrefix, {}),
      cables_(config_.host, store) {}

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
  if (auto loaded = modules_.load(); !loaded) return loaded;
  if (auto loaded = cables_.load(); !loaded) return loaded;
  cables_.set_adapters(!adapters_.empty());
  return load_uplinks();
}

void HostInfiniband::begin(bool follows, std::span<const std::byte> inherited) {
  const SocketUse use = look_at_socket(config_.umad_socket).use;
  // Of an engine that has ended: an engine that serves may not ask whether a socket is in use.
  const bool is_left = use == SocketUse::kStale || (follows && use == SocketUse::kUnknown);
  if (is_left) ::unlink(config_.umad_socket.c_str());
  keep_numbers();
  show_net_queues();
  if (!inherited.empty() && !adapters_.empty()) take_over(inherited);
  for (const auto& [name, adapter] : adapters_) {
    tell_types(adapter);
    if (const auto made = make(adapter); !made) {
      log_.error(std::chrono::steady_clock::now(), "InfiniBand adapter {}: {}", name,
                 made.error().message);
    }
  }
}

// ---- The thread ----

ApiResult<void> HostInfiniband::ensure_thread() {
  if (thread_) return {};
  if (auto started = start_thread(); !started) return started;
  return begin_thread();
}

ApiResult<void> HostInfiniband::start_thread() {
  auto started = SubnetThread::start(
      {.host = config_.host,
       .switch_guid = guid_of("switch"),
       .uplink_lost = [this](const std::string& uplink) { tell_lost(uplink); },
       .cable_lost = [this](const std::string& host, std::uint64_t number,
                            const std::string& why) { tell_cut(host, number, why); },
       .link_news = [this](const LinkNews& news) { tell_news(news); },
       .trouble = [this](const std::string& why) { tell_trouble(why); }});
  if (!started) return model::refuse(ApiErrorCode::kInternal, started.error().message);
  thread_ = std::move(*started);
  return {};
}

ApiResult<void> HostInfiniband::begin_thread() {
  auto opened = open_door();
  if (!opened) {
    end_thread();
    return opened;
  }
  tell_door();
  cables_.begin(*thread_);
  return {};
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

void HostInfiniband::tell_door() {
  if (!thread_) return;
  const auto uplinks = static_cast<std::uint32_t>(uplinks_.size());
  thread_->post([thread = thread_.get(), uplinks] { thread->door().set_ipoib_uplinks(uplinks); });
}

void HostInfiniband::end_thread() {
  if (!thread_) return;
  thread_.reset();
  cables_.end();
  // What stands there may be another's, if ours could not be made.
  if (std::exchange(has_door_, false)) ::unlink(config_.umad_socket.c_str());
}

std::uint64_t HostInfiniband::guid_of(const std::string& node) const {
  return model::ib_guid_for_name(config_.address_seed + "/infiniband/" + node);
}

ApiResult<void> HostInfiniband::make(const model::IbAdapter& adapter) {
  auto made = make_now(adapter);
  if (made) {
    not_made_.erase(adapter.name);
  } else {
    not_made_[adapter.name] =
        fmt::format("it was not made: {}. Try again with: {}", made.error().message, kRestart);
  }
  return made;
}

ApiResult<void> HostInfiniband::make_now(const model::IbAdapter& adapter) {
  if (auto ready = ensure_thread(); !ready) return ready;
  const std::uint64_t guid = guid_of("adapter " + adapter.name);
  const auto made =
      thread_->ask([thread = thread_.get(), adapter, types = types_of(adapter), guid] {
        subnet::Subnet& subnet = thread->subnet();
        // One that goes on is there.
        return subnet.find(adapter.name) != nullptr ||
               subnet.add(adapter.name, model_of(adapter, types), guid) != nullptr;
      });
  if (!made) return thread_is_busy();
  if (!*made)
    return model::refuse(ApiErrorCode::kInternal,
                         fmt::format("the subnet has no room for adapter {}", adapter.name));
  return {};
}

// ---- From one engine to the next ----

std::vector<std::byte> HostInfiniband::freeze() {
  if (!thread_) return {};
  std::vector<std::byte> state;
  bool has_answered = true;
  const bool had_memory = runs_in_memory([&] {
    const auto left = thread_->freeze();
    has_answered = left.has_value();
    if (left) state = write_subnet_parcel(*left);
  });
  if (had_memory && has_answered) return state;
  log_.warn(std::chrono::steady_clock::now(),
            "the InfiniBand subnet begins anew with the next engine: {}",
            had_memory ? "its thread did not respond in time" : "out of memory");
  return {};
}

void HostInfiniband::thaw() {
  if (thread_) thread_->thaw();
}

void HostInfiniband::take_over(std::span<const std::byte> inherited) {
  const auto begins_anew = [this](const std::string& why) {
    log_.warn(std::chrono::steady_clock::now(), "the InfiniBand subnet begins anew: {}", why);
  };
  auto parcel = read_subnet_parcel(inherited);
  if (!parcel) return begins_anew(parcel.error().message);
  if (auto started = start_thread(); !started) return begins_anew(started.error().message);
  std::vector<subnet::Subnet::AdapterWish> wishes;
  for (const auto& [name, adapter] : adapters_)
    wishes.push_back({.name = name,
                      .model = model_of(adapter, types_of(adapter)),
                      .guid = guid_of("adapter " + name)});
  std::optional<std::vector<std::string>> anew;
  const bool had_memory = runs_in_memory([&] {
    auto shared = std::make_shared<SubnetParcel>(std::move(*parcel));
    anew = thread_->ask([thread = thread_.get(), shared, wishes] {
      return thread->adopt(std::move(*shared), wishes);
    });
  });
  if (!had_memory) begins_anew("out of memory");
  if (had_memory && !anew) begins_anew("its thread did not respond in time");
  if (anew) {
    for (const std::string& one : *anew) begins_anew(one);
  }
  // Programs that are connected again find their adapters.
  if (auto begun = begin_thread(); !begun) begins_anew(begun.error().message);
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
  model::IbAdapterStatus absent{.adapter = adapter};
  if (const auto why = not_made_.find(adapter.name); why != not_made_.end())
    absent.problem = why->second;
  if (!thread_) return absent;
  const auto status =
      thread_->ask([thread = thread_.get(), adapter, absent, awaits = awaits_manager()] {
        const subnet::HostAdapter* node = thread->subnet().find(adapter.name);
        if (node == nullptr) return absent;
        return subnet_host::status_of(adapter, *node, thread->subnet(), awaits);
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
    not_made_.erase(adapter.name);
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
  tell_types(adapter);
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
  not_made_.erase(name);
  if (adapters_.empty()) {
    end_thread();
  } else {
    thread_->post([thread = thread_.get(), name] { thread->remove(name); });
  }
  change_uplinks();
  tell("infiniband.adapter.removed", name, fmt::format("InfiniBand adapter {} was removed", name));
  return {};
}

ApiResult<model::IbFabric> HostInfiniband::ib_fabric() {
  model::IbFabric known{.host = cables_.host()};
  bool has_own_manager = false;
  if (thread_) {
    auto fabric = thread_->ask([thread = thread_.get(), host = cables_.host()] {
      return std::pair(fabric_of(host, thread->subnet(), thread->cables()),
                       has_manager(thread->subnet()));
    });
    if (!fabric) return thread_is_busy();
    std::tie(known, has_own_manager) = std::move(*fabric);
  }
  cables_.explain(known, has_own_manager);
  known.umad_socket = config_.umad_socket.string();
  return known;
}

ApiResult<void> HostInfiniband::restart_infiniband() {
  // Programs live on, and are connected again within some tenths of a second.
  if (thread_ && thread_->ask([thread = thread_.get()] { return has_manager(thread->subnet()); })
                     .value_or(false))
    manager_comes_until_ = std::chrono::steady_clock::now() + kManagerComes;
  end_thread();
  modules_.take_effect();
  change_uplinks();
  ApiResult<void> all;
  for (const auto& [name, adapter] : adapters_) {
    tell_types(adapter);
    if (auto made = make(adapter); !made && all) all = std::move(made);
  }
  // Their taps were closed, also those of the adapters that were made beside one that was not.
  if (config_.uplink_lost) {
    for (const Uplink& uplink : uplinks_) config_.uplink_lost(uplink.name);
  }
  if (config_.ports_changed) config_.ports_changed();
  if (!all) return all;
  tell("infiniband.restarted", {}, "the host's InfiniBand adapters were made anew");
  return {};
}

}  // namespace paravane::subnet_host
