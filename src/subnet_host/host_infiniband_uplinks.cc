// HostInfiniband: the IPoIB uplinks that the adapters make, and captures of their ports.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"
#include "model/machine.h"
#include "subnet_host/host_infiniband.h"
#include "subnet_host/port_status.h"
#include "subnet_host/refusals.h"
#include "subnet_host/uplink_status.h"

namespace paravane::subnet_host {

using model::ApiErrorCode;
using model::ApiResult;

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
  numbers_ = store::DeviceNumbers(model::kNicPrefix, known,
                                  {.first = model::kFirstIpoibUplink,
                                   .count = model::kMaxIpoibUplinks,
                                   .barred = config_.nic_numbers});
  number_uplinks();
  return {};
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
  cables_.set_adapters(!adapters_.empty());
  number_uplinks();
  keep_numbers();
  show_net_queues();
  tell_door();
  if (config_.uplinks_changed) config_.uplinks_changed();
  if (config_.ports_changed) config_.ports_changed();
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
        fmt::format(
            "Give the switch another uplink first: paravane vds uplink {} none --host {} (in "
            "a cluster: on the authority's host)",
            vds, cables_.host()));
  }
  return {};
}

// ---- InfinibandManagement ----

ApiResult<std::vector<model::IbUplink>> HostInfiniband::list_ib_uplinks() {
  std::vector<model::IbUplink> list;
  for (const Uplink& uplink : uplinks_) {
    model::IbUplink& status = list.emplace_back();
    status.name = uplink.name;
    status.adapter = uplink.adapter;
    status.device = adapters_.at(uplink.adapter).device;
    status.port = uplink.port;
    status.has_net_queue = uplink.has_net_queue;
    if (!config_.use_of) continue;
    HostInfinibandConfig::Use use = config_.use_of(uplink.name);
    status.vds = std::move(use.vds);
    status.mtu = use.mtu;
  }
  if (!thread_) return list;
  auto known = thread_->ask([thread = thread_.get(), list, awaits = awaits_manager()]() mutable {
    for (model::IbUplink& status : list) {
      const subnet::HostAdapter* node = thread->subnet().find(status.adapter);
      if (node == nullptr) continue;
      const auto port = static_cast<subnet::PortNumber>(status.port);
      add_status(*node->port(port), thread->uplinks().find(status.name), status);
      status.problem = problem_of(thread->subnet(), *node, port, awaits);
    }
    return list;
  });
  if (!known) return thread_is_busy();
  return std::move(*known);
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

}  // namespace paravane::subnet_host
