#include "worker/port_table.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>

#include "base/undo.h"
#include "model/mac_address.h"
#include "worker/port_metrics.h"
#include "worker/port_report.h"

namespace paravane::worker {
namespace {

// Adapter numbers are given out in a circle, so that one is used again as late
// as possible: a stale number finds no adapter rather than a wrong one.
constexpr std::size_t kAdapterIds = 4096;

constexpr Duration kWatchSockets = std::chrono::microseconds(200);

}  // namespace

PortTable::PortTable(Worker& worker, std::uint64_t incarnation, PortEvents events,
                     std::uint8_t roce_class)
    : worker_(worker),
      roce_(worker.schedule().turn_clock(), roce_class),
      directory_(local_),
      events_(std::move(events)),
      speech_(
          {.tell =
               [this](model::Event event) {
                 if (events_.tell) events_.tell(std::move(event));
               },
           .name = [this](const verbs::PathUse::Way& way) { return name_way(way); },
           .why_none =
               [this](const model::AdapterName& name, const verbs::PathUse::Ends& ends) {
                 const auto found = ports_.find(name);
                 if (found == ports_.end()) return std::string();
                 return reasons_.why_none(found->second->id(), ends);
               },
           .probed_ways = [this](const model::AdapterName& name) { return probed_ways(name); }}),
      tcp_({.incarnation = incarnation, .arranges_trunks = true, .holds = &holds_}, worker.loop(),
           *this,
           {.on_lost = [this](const transport_channel::LostChannel& lost) { on_lost(lost); },
            .on_open = [this](verbs::HostId host) { trunks_.on_channel(host); },
            .on_trunk_offer = [this](
                                  verbs::HostId host,
                                  const wire::TrunkOffer& offer) { trunks_.on_offer(host, offer); },
            .on_trunk_ready =
                [this](verbs::HostId host, const wire::TrunkReady& ready) {
                  trunks_.on_ready(host, ready);
                }}),
      trunks_(worker, incarnation, *this, directory_, tcp_, events_.trunk),
      local_tenant_(local_),
      roce_tenant_(roce_, worker.loop(), worker.schedule().turn_clock(), kWatchSockets),
      tcp_tenant_(tcp_, worker.schedule().turn_clock(), kWatchSockets),
      impairments_(directory_, {&local_, &tcp_, &trunks_.transport()},
                   worker.schedule().turn_clock(),
                   [this](verbs::AdapterId id) { return vm_of(id); }),
      captures_(worker.schedule().turn_clock()),
      gid_reporter_(directory_, [this] { report_gids(); }),
      services_({.roce = roce_,
                 .tenant = roce_tenant_,
                 .directory = directory_,
                 .clock = worker.schedule().turn_clock()},
                [this](const model::AdapterName& name) {
                  if (events_.roce_lost) events_.roce_lost(name);
                }),
      ids_used_(kAdapterIds),
      leaving_([this](verbs::AdapterId id) {
        impairments_.forget_adapter(id);
        ids_used_[static_cast<std::size_t>(id)] = false;
      }) {
  worker_.schedule().add(local_tenant_);
  worker_.schedule().add(roce_tenant_);
  worker_.schedule().add(tcp_tenant_);
  worker_.schedule().add(trunks_.tenant());
  worker_.schedule().add(impairments_);
  worker_.schedule().add(captures_);
  worker_.schedule().add(gid_reporter_);
  worker_.schedule().add(leaving_);
}

PortTable::~PortTable() {
  while (!ports_.empty()) remove_one(*ports_.begin()->second);
  worker_.schedule().remove(leaving_);
  worker_.schedule().remove(gid_reporter_);
  worker_.schedule().remove(captures_);
  worker_.schedule().remove(impairments_);
  worker_.schedule().remove(trunks_.tenant());
  worker_.schedule().remove(tcp_tenant_);
  worker_.schedule().remove(roce_tenant_);
  worker_.schedule().remove(local_tenant_);
}

void PortTable::report_gids() const {
  if (!events_.gids_changed) return;
  std::map<verbs::AdapterId, model::AdapterName> names;
  for (const auto& [name, port] : ports_) names.emplace(port->id(), name);
  names.merge(services_.names());
  std::vector<SharedGid> gids;
  for (const auto& shared : directory_.shared_gids()) {
    gids.push_back({.adapter = names.at(shared.adapter),
                    .segment = shared.segment,
                    .gid = shared.gid,
                    .type = shared.type,
                    .linked = shared.linked});
  }
  events_.gids_changed(std::move(gids));
}

VmPort* PortTable::find_port(verbs::AdapterId id) const {
  const auto found =
      std::ranges::find_if(ports_, [id](const auto& port) { return port.second->id() == id; });
  return found == ports_.end() ? nullptr : found->second.get();
}

std::string PortTable::vm_of(verbs::AdapterId id) const {
  const VmPort* port = find_port(id);
  return port == nullptr ? std::string() : port->config().adapter.vm;
}

std::string PortTable::why_not_roce(verbs::AdapterId id) const {
  const VmPort* port = find_port(id);
  return port == nullptr ? std::string() : port->roce_closed();
}

std::vector<PortWatch::ProbedWay> PortTable::probed_ways(const model::AdapterName& name) const {
  using transport_roce::ProbeState;
  std::vector<PortWatch::ProbedWay> ways;
  const auto found = ports_.find(name);
  if (found == ports_.end()) return ways;
  for (const transport_roce::ProbeReport& probe : found->second->probes()) {
    std::string why = reasons_.why_routed(found->second->id(), probe);
    if (why.empty()) continue;
    const bool is_known =
        probe.state == ProbeState::kAnswered || probe.state == ProbeState::kUnanswered;
    ways.push_back(
        {.own_gid = format_gid(probe.way.own),
         .peer_gid = format_gid(probe.way.peer),
         .gateway = model::format_mac(probe.way.gateway),
         .hop_limit = probe.way.hop_limit,
         .answers = is_known ? std::optional(probe.state == ProbeState::kAnswered) : std::nullopt,
         .why = std::move(why)});
  }
  return ways;
}

void PortTable::set_others(const OtherHosts& others) {
  directory_.set_others_known(false);
  if (others.held != held_) {
    directory_.set_held(others.held ? *others.held : OtherHosts::Held());
    held_ = others.held;
  }
  set_hosts(others.hosts);
  directory_.set_others_known(others.known);
  if (others.known) directory_.set_learning(false);
}

void PortTable::set_hosts(const std::vector<RemoteHost>& hosts) {
  std::map<verbs::HostId, KnownHost> there;
  for (const RemoteHost& host : hosts) {
    const auto known = hosts_.find(host.id);
    there[host.id] =
        known != hosts_.end() ? known->second : KnownHost{.name = host.name, .problem = "not yet"};
    there[host.id].lacks_probe = host.lacks_probe;
    directory_.set_host(host.id, host.name, trunks_.way_to(host.id), host.gids);
  }
  const auto before = std::exchange(hosts_, std::move(there));
  for (const auto& [gone, host] : before) {
    if (hosts_.contains(gone)) continue;
    directory_.remove_host(gone);
    holds_.forget(gone);
    tcp_.close(gone, "the host has left the cluster", std::chrono::steady_clock::now());
  }
}

Status PortTable::open_channel(const transport_channel::ChannelConfig& config,
                               std::unique_ptr<transport_channel::Stream> stream) {
  return tcp_.open(config, std::move(stream), std::chrono::steady_clock::now());
}

void PortTable::on_lost(const transport_channel::LostChannel& lost) {
  const auto found = hosts_.find(lost.host);
  if (found != hosts_.end()) found->second.problem = lost.reason;
  trunks_.on_channel_lost(lost.host, std::chrono::steady_clock::now());
  if (events_.channel_lost) events_.channel_lost(lost);
}

std::vector<HeldPeer> PortTable::held_peers() const {
  std::vector<HeldPeer> peers;
  for (const transport_channel::PeerHold& one : tcp_.peer_holds()) {
    peers.push_back({.host = report_host(one.host).name, .answer = one.answer});
  }
  return peers;
}

void PortTable::begin() {
  for (const auto& [name, port] : ports_) port->begin();
}

void PortTable::await_others(Duration time) {
  directory_.set_others_known(false);
  directory_.set_learning(true);
  holds_.begin_all(time, std::chrono::steady_clock::now());
}

// A host can cause as many as Holds lets it.
void PortTable::on_hold(const transport_channel::HoldNews& news) {
  using What = transport_channel::HoldNews::What;
  if (news.what == What::kAllOver) return directory_.set_learning(false);
  const std::string host = report_host(news.host).name;
  const Instant now = std::chrono::steady_clock::now();
  model::Event event{.type = "channel.held", .fields = {{"host", host}}};
  if (news.what == What::kBegun) {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(news.time).count();
    event.fields.emplace("most_ms", std::to_string(time));
    event.text = fmt::format("host {} is being upgraded: requests wait for it", host);
    told_holds_.info(now, "{}, for {} ms at most", event.text, time);
  } else {
    event.type = "channel.hold_over";
    event.severity = model::Severity::kWarning;
    event.text =
        news.what == What::kOver
            ? fmt::format("host {} has not come back in the time that requests wait for it", host)
            : fmt::format("host {} asks too often to be waited for, and is not", host);
    told_holds_.warn(now, "{}", event.text);
  }
  if (events_.tell) events_.tell(std::move(event));
}

void PortTable::set_trunk_listener(TrunkListener* listener) {
  std::vector<verbs::HostId> hosts;
  for (const auto& [id, host] : hosts_) hosts.push_back(id);
  trunks_.set_listener(listener, hosts, std::chrono::steady_clock::now());
}

Status PortTable::open_trunk(Trunk trunk) {
  return trunks_.open(std::move(trunk), std::chrono::steady_clock::now());
}

void PortTable::set_no_trunk(verbs::HostId host, TrunkReport why) {
  trunks_.set_none(host, std::move(why), std::chrono::steady_clock::now());
}

std::vector<OpenTrunk> PortTable::open_trunks() const {
  std::vector<OpenTrunk> open;
  for (const auto& [id, host] : hosts_) {
    TrunkReport trunk = trunks_.report(id);
    if (trunk.device.empty()) continue;
    open.push_back({.host = host.name, .device = std::move(trunk.device), .port = trunk.port});
  }
  std::ranges::sort(open, {}, &OpenTrunk::host);
  return open;
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

Result<PortTable::ServicePlace> PortTable::join_service(const model::AdapterName& name,
                                                        const verbs::Gid& own,
                                                        verbs::SegmentId segment) {
  if (ports_.contains(name) || services_.has(name)) {
    return fail(Errc::kBadState, "adapter " + to_string(name) + " already exists");
  }
  const std::optional<verbs::AdapterId> id = pick_id();
  if (!id) return fail(Errc::kResourceExhausted, "all adapter numbers are in use");
  Undo give_back([&] { ids_used_[static_cast<std::size_t>(*id)] = false; });
  ServicePlace place{.id = *id,
                     .fabric = directory_.join_with_gid(*id, to_string(name), own, segment)};
  services_.add(*id, name);
  give_back.keep();
  return place;
}

void PortTable::attach_service(verbs::Adapter& adapter, neighbour::Resolver* resolver) {
  local_.attach(adapter);
  Undo leave_local([&] { local_.detach(adapter); });
  tcp_.attach(adapter);
  Undo leave_tcp([&] { tcp_.detach(adapter); });
  trunks_.transport().attach(adapter);
  Undo leave_trunks([&] { trunks_.transport().detach(adapter); });
  services_.attach(adapter, resolver);
  leave_trunks.keep();
  leave_tcp.keep();
  leave_local.keep();
}

void PortTable::detach_service(verbs::Adapter& adapter) {
  services_.detach(adapter);
  tcp_.detach(adapter);
  trunks_.transport().detach(adapter);
  local_.detach(adapter);
}

void PortTable::forget_service(verbs::AdapterId id) {
  impairments_.forget_adapter(id);
  services_.remove(id);
  ids_used_[static_cast<std::size_t>(id)] = false;
}

Status PortTable::add(const VmPortConfig& config) {
  return add(config, nullptr);
}

Status PortTable::adopt(const VmPortConfig& config, PortParcel parcel) {
  return add(config, &parcel);
}

Status PortTable::add(const VmPortConfig& config, PortParcel* inherited) {
  const model::AdapterName& name = config.adapter;
  if (ports_.contains(name)) {
    return fail(Errc::kBadState, "adapter " + to_string(name) + " already exists");
  }
  const std::optional<verbs::AdapterId> id = pick_id();
  if (!id) return fail(Errc::kResourceExhausted, "all adapter numbers are in use");
  Undo give_back([&] { ids_used_[static_cast<std::size_t>(*id)] = false; });
  const PortNetwork network{.local = local_,
                            .roce = roce_,
                            .tcp = tcp_,
                            .hca = trunks_.transport(),
                            .directory = directory_,
                            .event_signal = event_signal_,
                            .mappings = mapping_ender_,
                            .clock = worker_.schedule().turn_clock(),
                            .speech = speech_,
                            .keeper = keeper_};
  auto port = inherited != nullptr ? VmPort::adopt(config, *id, network, std::move(*inherited))
                                   : VmPort::create(config, *id, network);
  if (!port) return std::unexpected(port.error());
  VmPort& made = **port;
  const Status watched =
      worker_.loop().watch(made.fd(), EPOLLIN, [&made](std::uint32_t) { made.on_readable(); });
  if (!watched) return watched;
  Undo unwatch([&] { worker_.loop().unwatch(made.fd()); });
  made.device().set_rules(rules_);
  if (const auto why = roce_closed_.find(name); why != roce_closed_.end()) {
    made.set_roce_closed(why->second);
  }
  worker_.schedule().add(made);
  Undo unschedule([&] { worker_.schedule().remove(made); });
  ports_.emplace(name, std::move(*port));
  unschedule.keep();
  unwatch.keep();
  give_back.keep();
  return {};
}

bool PortTable::remove(const std::vector<model::AdapterName>& names, bool force) {
  std::vector<VmPort*> going;
  for (const model::AdapterName& name : names) {
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
    removals_.warn(worker_.schedule().time(), "{}: removed while VMM process {} is attached",
                   port.name(), port.server().peer_pid());
  }
  worker_.schedule().remove(port);
  close_roce(port.config().adapter);
  worker_.loop().unwatch(port.fd());
  captures_.forget(port.device().adapter());
  leaving_.add(std::move(ports_.extract(port.config().adapter).mapped()));
}

Result<std::vector<PortParcel>> PortTable::save_ports() {
  std::vector<PortParcel> parcels;
  for (const auto& [name, port] : ports_) {
    auto parcel = port->save();
    if (!parcel) return std::unexpected(parcel.error());
    parcels.push_back(std::move(*parcel));
  }
  return parcels;
}

void PortTable::keep_all() {
  for (const auto& [name, port] : ports_) port->keep();
}

void PortTable::set_connected(const model::AdapterName& name, bool connected) {
  const auto found = ports_.find(name);
  if (found != ports_.end()) found->second->set_connected(connected);
}

void PortTable::set_rules(const device::DeviceRules& rules) {
  rules_ = rules;
  for (const auto& [name, port] : ports_) port->device().set_rules(rules);
}

void PortTable::set_segment(const model::AdapterName& name, verbs::SegmentId segment) {
  const auto found = ports_.find(name);
  if (found != ports_.end()) found->second->set_segment(segment);
}

Status PortTable::open_roce(const model::AdapterName& name, RoceTap tap) {
  auto door =
      std::make_unique<transport_roce::TapDoor>(std::move(tap.tap), tap.takes_superframes, tap.mtu);
  if (name.number == 0) return services_.open(name, std::move(door));
  const auto found = ports_.find(name);
  if (found == ports_.end()) return fail(Errc::kNotFound, "no adapter " + to_string(name));
  close_roce(name);
  const Status watched = roce_tenant_.watch(found->second->id(), door->fd(), [this, name] {
    close_roce(name);
    if (events_.roce_lost) events_.roce_lost(name);
  });
  if (watched) found->second->set_door(std::move(door));
  return watched;
}

void PortTable::close_roce(const model::AdapterName& name) {
  services_.close(name);
  const auto found = ports_.find(name);
  if (found == ports_.end()) return;
  const auto door = found->second->set_door(nullptr);
  if (door) roce_tenant_.unwatch(door->fd());
}

void PortTable::set_roce_closed(std::map<model::AdapterName, std::string> why) {
  roce_closed_ = std::move(why);
  for (const auto& [name, port] : ports_) {
    const auto its = roce_closed_.find(name);
    port->set_roce_closed(its == roce_closed_.end() ? std::string() : its->second);
  }
}

void PortTable::start_capture(const std::shared_ptr<capture::Capture>& capture,
                              const std::vector<model::AdapterName>& adapters) {
  std::vector<Captures::Place> places;
  std::uint32_t interface = 0;
  for (const model::AdapterName& name : adapters) {
    const auto found = ports_.find(name);
    if (found != ports_.end()) {
      VmPort& port = *found->second;
      places.push_back({.adapter = &port.device().adapter(),
                        .mac = port.config().device.mac,
                        .interface = interface});
    }
    ++interface;
  }
  captures_.start(capture, places);
}

std::map<model::AdapterName, PortState> PortTable::states() const {
  std::map<model::AdapterName, PortState> states;
  for (const auto& [name, port] : ports_) states.emplace(name, report_state(*port));
  return states;
}

std::optional<model::VmStats> PortTable::stats(const model::AdapterName& name) const {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return std::nullopt;
  return report_stats(*found->second, reasons_);
}

void PortTable::close_channels(const std::string& reason) {
  for (auto& [id, host] : hosts_) {
    host.problem = reason;
    tcp_.close(id, reason, std::chrono::steady_clock::now());
  }
}

void PortTable::close_channel(verbs::HostId host, const std::string& reason) {
  set_channel_problem(host, reason);
  tcp_.close(host, reason, std::chrono::steady_clock::now());
}

void PortTable::set_channel_problem(verbs::HostId host, const std::string& problem) {
  const auto found = hosts_.find(host);
  if (found != hosts_.end()) found->second.problem = problem;
}

HostReport PortTable::report_host(verbs::HostId id) const {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return {.name = "?", .problem = "the host has left the cluster"};
  HostReport report{.name = found->second.name,
                    .problem = found->second.problem,
                    .lacks_probe = found->second.lacks_probe,
                    .trunk = trunks_.report(id)};
  if (tcp_.channel_to(id) != nullptr) {
    report.problem.clear();
  } else if (holds_.is_held(id)) {
    report.problem = "requests wait for the host: " + report.problem;
  }
  return report;
}

PortWatch::WayName PortTable::name_way(const verbs::PathUse::Way& way) const {
  const std::string host = way.host == verbs::HostId{} ? "" : report_host(way.host).name;
  return {.name = {std::string(way.transport->name()), host},
          .why = reasons_.why_path(way.transport->name(), way.host)};
}

std::optional<AdapterMetrics> PortTable::metrics(const model::AdapterName& name) const {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return std::nullopt;
  return report_metrics(*found->second, reasons_);
}

QpSlice PortTable::queue_pairs(const model::AdapterName& name, std::uint32_t first) const {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return {};
  return report_qps(*found->second, first, reasons_);
}

std::vector<MetricGroup> PortTable::shared_metrics() const {
  const auto group = [](std::string prefix, const CounterSet& set,
                        std::vector<std::pair<std::string, std::string>> labels) {
    return MetricGroup{.prefix = std::move(prefix),
                       .labels = std::move(labels),
                       .counters = report_counters("", set).counters};
  };
  std::vector<MetricGroup> groups{
      group("worker", worker_.counters().set, {}),
      group("path", local_.counters().set, {{"path", "local"}}),
      group("path", local_tenant_.turn_counters().set, {{"path", "local"}}),
      group("path", roce_tenant_.turn_counters().set, {{"path", "roce"}}),
      group("path", tcp_tenant_.turn_counters().set, {{"path", "tcp"}}),
      group("path", trunks_.tenant().turn_counters().set, {{"path", "hca"}}),
      group("holds", holds_.counters().set, {})};
  for (const auto& [id, host] : hosts_) {
    if (const transport_channel::Channel* channel = tcp_.channel_to(id)) {
      groups.push_back(group("channel", channel->counters().set, {{"host", host.name}}));
    }
    if (const transport_channel::Channel* trunk = trunks_.transport().channel_to(id)) {
      groups.push_back(group("trunk", trunk->counters().set, {{"host", host.name}}));
    }
  }
  for (const model::ImpairmentStatus& one : impairments_.list()) {
    groups.push_back(
        {.prefix = "impairment",
         .labels = {{"vm", one.spec.vm}, {"peer", one.spec.peer}},
         .counters = {{"messages", "attempts to send messages and datagrams", one.messages},
                      {"lost", "attempts dropped", one.lost}}});
  }
  return groups;
}

std::vector<model::CounterGroup> PortTable::shared_stats() const {
  std::vector<model::CounterGroup> groups{
      report_counters("worker", worker_.counters().set),
      report_counters("local_path", local_tenant_.turn_counters().set),
      report_counters("roce_path", roce_tenant_.turn_counters().set),
      report_counters("tcp_path", tcp_tenant_.turn_counters().set),
      report_counters("hca_path", trunks_.tenant().turn_counters().set),
      report_counters("holds", holds_.counters().set)};
  for (const auto& [id, host] : hosts_) {
    if (const transport_channel::Channel* channel = tcp_.channel_to(id)) {
      groups.push_back(report_counters("channel_" + host.name, channel->counters().set));
    }
    if (const transport_channel::Channel* trunk = trunks_.transport().channel_to(id)) {
      groups.push_back(report_counters("trunk_" + host.name, trunk->counters().set));
    }
  }
  for (model::CounterGroup& group : impairments_.counters()) groups.push_back(std::move(group));
  return groups;
}

}  // namespace paravane::worker
