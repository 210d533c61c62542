#include "daemon/port_table.h"

#include <sys/epoll.h>

#include "base/log.h"
#include "daemon/port_report.h"

namespace paravane::daemon {
namespace {

// Adapter numbers are given out in a circle, so that one is used again as late
// as possible: whoever still holds an old one meets nobody rather than a stranger.
constexpr std::size_t kAdapterIds = 4096;

}  // namespace

PortTable::PortTable(Worker& worker)
    : worker_(worker), directory_(local_), local_tenant_(local_), ids_used_(kAdapterIds) {
  worker_.schedule().add(local_tenant_);
}

PortTable::~PortTable() {
  while (!ports_.empty()) remove_one(*ports_.begin()->second);
  worker_.schedule().remove(local_tenant_);
}

std::optional<verbs::AdapterId> PortTable::pick_id() {
  for (std::size_t i = 0; i < kAdapterIds; ++i) {
    const std::size_t id = (next_id_ + i) % kAdapterIds;
    if (ids_used_[id]) continue;
    ids_used_[id] = true;
    next_id_ = id + 1;
    return static_cast<verbs::AdapterId>(id);
  }
  return std::nullopt;
}

Status PortTable::add(const VmPortConfig& config) {
  const std::string& name = config.device.name;
  if (ports_.contains(name)) return fail(Errc::kBadState, "adapter " + name + " is there already");
  const std::optional<verbs::AdapterId> id = pick_id();
  if (!id) return fail(Errc::kResourceExhausted, "all adapter numbers are in use");
  auto port = VmPort::create(
      config, *id, {.local = local_, .directory = directory_, .event_signal = event_signal_});
  Status watched;
  if (port) {
    VmPort& made = **port;
    watched =
        worker_.loop().watch(made.fd(), EPOLLIN, [&made](std::uint32_t) { made.on_readable(); });
  }
  if (!port || !watched) {
    ids_used_[static_cast<std::size_t>(*id)] = false;
    return std::unexpected(port ? watched.error() : port.error());
  }
  worker_.schedule().add(**port);
  ports_.emplace(name, std::move(*port));
  return {};
}

bool PortTable::remove(const std::vector<std::string>& names, bool force) {
  std::vector<VmPort*> going;
  for (const std::string& name : names) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) continue;
    if (found->second->server().attached() && !force) return false;
    going.push_back(found->second.get());
  }
  for (VmPort* port : going) remove_one(*port);
  return true;
}

void PortTable::remove_one(VmPort& port) {
  if (port.server().attached()) {
    log::warn("{}: removed while VMM process {} is attached", port.name(),
              port.server().peer_pid());
  }
  worker_.schedule().remove(port);
  worker_.loop().unwatch(port.fd());
  ids_used_[static_cast<std::size_t>(port.id())] = false;
  ports_.erase(std::string(port.name()));
}

void PortTable::set_connected(const std::string& name, bool connected) {
  const auto found = ports_.find(name);
  if (found != ports_.end()) found->second->set_connected(connected);
}

std::map<std::string, PortState> PortTable::states() const {
  std::map<std::string, PortState> states;
  for (const auto& [name, port] : ports_) states.emplace(name, report_state(*port));
  return states;
}

std::optional<control::VmStats> PortTable::stats(const std::string& name) const {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return std::nullopt;
  return report_stats(*found->second);
}

std::vector<control::CounterGroup> PortTable::shared_stats() const {
  return {report_counters("worker", worker_.counters().set),
          report_counters("local_path", local_tenant_.turn_counters().set)};
}

}  // namespace paravane::daemon
