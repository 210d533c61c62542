#include "daemon/cluster_fabric.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/endpoint.h"
#include "base/log.h"
#include "model/release.h"

namespace paravane::daemon {
namespace {

verbs::GidType type_of(inventory::RoceType type) {
  return type == inventory::RoceType::kV1 ? verbs::GidType::kRoceV1 : verbs::GidType::kRoceV2;
}

inventory::RoceType type_of(verbs::GidType type) {
  return type == verbs::GidType::kRoceV1 ? inventory::RoceType::kV1 : inventory::RoceType::kV2;
}

fabric::Directory::RemoteGid remote_gid(const inventory::GidId& gid) {
  return {.segment = verbs::SegmentId{gid.segment},
          .gid = verbs::Gid{gid.gid},
          .type = type_of(gid.type)};
}

model::ChannelPlace closed(std::string why, model::ClosedBy by = model::ClosedBy::kOther) {
  return {.closed = {.why = std::move(why),
                     .remedy = model::reopen(by, model::kManagementVmknic),
                     .by = by}};
}

}  // namespace

ClusterFabric::ClusterFabric(const settings::Config& config, Parts parts, worker::PortTable& ports)
    : config_(config), parts_(std::move(parts)), ports_(ports) {}

void ClusterFabric::on_view(std::shared_ptr<const inventory::View> view) {
  view_ = std::move(view);
  const auto self = parts_.cluster.self();
  const Instant now = std::chrono::steady_clock::now();
  for (model::Event& event : watch_.look(self ? self->host : "", view_.get(), now)) {
    parts_.tell(std::move(event));
  }
  if (!self) {
    away_.clear();
    recalled_ = false;
  }
  if (!self || !view_) {
    tell_worker({.known = !self && !parts_.cluster.left_out()});
    return end();
  }
  self_ = self->host;
  if (!recalled_) {
    if (const auto away = parts_.cluster.away_at_start()) away_.recall(*away);
    recalled_ = true;
  }
  tell_worker({.known = view_->is_whole,
               .hosts = hosts_of_view(),
               .held = share_held(away_.look(*view_, self_))});
  end_channels_of_others();
  if (!maker_ && site_.closed.why.empty()) begin(*self);
  tell_maker();
}

void ClusterFabric::set_site(const host::ChannelSite& site) {
  if (site == site_) return;
  ++attempt_;
  const bool moves = site.closed.why.empty();
  close_channels(moves ? "the channel is moving to " + site.vmknic : describe(site.closed));
  site_ = site;
  if (moves) {
    // Not published: release 0.1.0 loses a channel that is made before it reads this record.
    change_place(closed("the channel of " + site.vmknic + " is being opened"));
  } else {
    settle({.closed = site.closed});
  }
  if (view_) on_view(view_);
}

model::ChannelPlace ClusterFabric::place() const {
  if (maker_ || !site_.closed.why.empty()) return place_;
  if (parts_.cluster.self()) {
    return closed("the cluster's inventory has not been read yet", model::ClosedBy::kInventory);
  }
  if (parts_.cluster.left_out()) return closed("files of the cluster are damaged");
  return closed("this host is not in a cluster");
}

bool ClusterFabric::change_place(model::ChannelPlace place) {
  if (place == place_) return false;
  place_ = std::move(place);
  if (place_.endpoint.empty()) {
    log::info("channels: closed: {}", describe(place_.closed));
  } else {
    log::info("channels: listening at {} ({})", place_.endpoint, site_.vmknic);
  }
  return true;
}

void ClusterFabric::settle(model::ChannelPlace place) {
  if (change_place(std::move(place))) parts_.cluster.set_place(place_);
}

void ClusterFabric::close_channels(const std::string& reason) {
  if (!maker_) return;
  maker_.reset();
  parts_.worker.post([ports = &ports_, reason] { ports->close_channels(reason); });
  parts_.cables.cut_all(reason);
}

void ClusterFabric::begin(const authority::Identity& self) {
  auto maker = cluster::ChannelMaker::start(
      {.host = self.host,
       .cluster = self.cluster,
       .encrypted = config_.channel.encrypted,
       .seals_payload = config_.channel.seals_payload},
      {.made =
           [this](cluster::MadeChannel made) {
             auto shared = std::make_shared<cluster::MadeChannel>(std::move(made));
             parts_.post([this, shared] { on_made(shared); });
           },
       .changed =
           [this](const std::string& host, const std::string& problem) {
             parts_.post([this, host, problem] { on_changed(host, explain(host, problem)); });
           },
       .cable_made =
           [this](cluster::MadeCable made) {
             auto shared = std::make_shared<cluster::MadeCable>(std::move(made));
             parts_.post([this, shared] { on_cable_made(shared); });
           },
       .cable_changed =
           [this](const std::string& host, const std::string& problem) {
             parts_.post([this, host, problem] {
               parts_.cables.set_problem(host, describe(explain(host, problem)));
             });
           },
       .dial =
           [this, source = site_.address](const std::string& endpoint,
                                          const std::function<void(Result<UniqueFd>)>& done) {
             parts_.dialer.dial(endpoint, done, source);
           }});
  if (!maker) {
    log::error("channels: {}", maker.error().message);
    return settle(closed(maker.error().message));
  }
  maker_ = std::move(*maker);
  on_identity();
  listen(settings::kFirstChannelPort);
}

void ClusterFabric::listen(std::uint16_t port) {
  const auto at = Endpoint::of(site_.address, port);
  if (!at) return settle(closed(site_.address + " is not a valid address"));
  parts_.dialer.listen(at->print(),
                       [this, port, at = *at, attempt = attempt_](Result<UniqueFd> socket) {
                         if (attempt == attempt_) on_listener(port, at, std::move(socket));
                       });
}

void ClusterFabric::on_listener(std::uint16_t port, const Endpoint& at, Result<UniqueFd> socket) {
  if (!maker_) return;
  if (socket) {
    maker_->set_listener(std::move(*socket));
    return settle({.endpoint = at.print()});
  }
  const auto& [code, why, cause] = socket.error();
  if (cause == std::errc::address_in_use && port < settings::kLastChannelPort) {
    return listen(port + 1);
  }
  log::error("channels: {}", why);
  settle(closed(why));
}

void ClusterFabric::end() {
  maker_.reset();
  channels_.clear();
  cables_.clear();
  parts_.cables.set_hosts("", {});
}

void ClusterFabric::on_identity() {
  if (!maker_) return;
  const settings::ClusterPaths paths(config_.state_dir);
  const auto identity = cluster::read_file(paths.identity());
  const auto authority = cluster::read_file(paths.authority());
  for (const auto* file : {&identity, &authority}) {
    if (!*file) return log::error("channels: {}", file->error().message);
  }
  maker_->set_credentials({.identity = *identity, .authority = *authority});
}

verbs::HostId ClusterFabric::id_of(const std::string& host) {
  const auto next = verbs::HostId{static_cast<std::uint32_t>(ids_.size()) + 1};
  return ids_.try_emplace(host, next).first->second;
}

std::string ClusterFabric::name_of(verbs::HostId id) const {
  const auto found =
      std::ranges::find_if(ids_, [id](const auto& entry) { return entry.second == id; });
  return found == ids_.end() ? std::string() : found->first;
}

std::vector<worker::RemoteHost> ClusterFabric::hosts_of_view() {
  std::vector<worker::RemoteHost> hosts;
  for (const auto& [name, host] : view_->hosts) {
    if (name == self_) continue;
    worker::RemoteHost remote{.id = id_of(name), .name = name, .gids = {}};
    remote.lacks_probe = host.info && !model::answers_probes(host.info->version);
    for (const auto& [gid, ignored] : host.gids) {
      remote.gids.push_back(remote_gid(gid));
    }
    hosts.push_back(std::move(remote));
  }
  return hosts;
}

std::shared_ptr<const worker::OtherHosts::Held> ClusterFabric::share_held(
    std::vector<cluster::AwayGids::Held> away) {
  worker::OtherHosts::Held held;
  held.reserve(away.size());
  for (cluster::AwayGids::Held& one : away) {
    held.push_back({.gid = remote_gid(one.gid), .owner = std::move(one.owner)});
  }
  if (!held_ || *held_ != held) {
    held_ = std::make_shared<const worker::OtherHosts::Held>(std::move(held));
  }
  return held_;
}

void ClusterFabric::tell_worker(worker::OtherHosts others) {
  parts_.worker.post([ports = &ports_, shared = std::make_shared<const worker::OtherHosts>(
                                           std::move(others))] { ports->set_others(*shared); });
}

void ClusterFabric::tell_again() {
  on_view(parts_.cluster.view());
}

void ClusterFabric::tell_maker() {
  std::map<std::string, cluster::ChannelPeer> peers;
  for (const auto& [name, host] : view_->hosts) {
    if (name == self_ || !host.info) continue;
    if (!maker_) {
      on_changed(name, why_closed(name, host));
      continue;
    }
    const auto endpoint = Endpoint::of(host.info->address, host.info->port);
    if (!endpoint && host.info->closed.empty()) continue;
    peers[name] = {.endpoint = host.info->closed.empty() ? endpoint->print() : std::string(),
                   .closed = why_closed(name, host).text,
                   .refuse = [view = view_, peer = name](const std::string& key) {
                     return inventory::why_no_member(view->members, peer, key);
                   }};
  }
  tell_cables(peers);
  if (maker_) maker_->set_hosts(std::move(peers));
}

void ClusterFabric::tell_cables(const std::map<std::string, cluster::ChannelPeer>& peers) {
  std::set<std::string> hosts;
  std::map<std::string, cluster::ChannelPeer> wanted;
  for (const auto& [name, host] : view_->hosts) {
    const bool has_cable = has_cables_ && host.info && host.info->has_infiniband;
    if (name == self_ || !has_cable) continue;
    hosts.insert(name);
    if (const auto peer = peers.find(name); peer != peers.end()) wanted.insert(*peer);
  }
  parts_.cables.set_hosts(self_, hosts);
  if (maker_) return maker_->set_cables(std::move(wanted));
  for (const std::string& name : hosts)
    parts_.cables.set_problem(name, describe(why_closed(name, view_->hosts.at(name))));
}

void ClusterFabric::set_cables(bool has_adapters) {
  has_cables_ = has_adapters;
  parts_.cluster.set_infiniband(has_adapters);
  if (view_) tell_maker();
}

void ClusterFabric::on_cable_lost(const std::string& host, std::uint64_t number,
                                  const std::string& reason) {
  if (maker_) maker_->on_cable_lost(host, number, reason);
}

void ClusterFabric::on_cable_made(const std::shared_ptr<cluster::MadeCable>& made) {
  cables_.on_made(made->host, made->key);
  parts_.cables.add(made);
  if (view_) end_channels_of_others();  // it was judged by what was known then
}

// A host that was removed, or has the name of one that was, loses its channel.
void ClusterFabric::end_channels_of_others() {
  for (const cluster::MemberChannels::Ended& ended : channels_.look(view_->members)) {
    parts_.worker.post([ports = &ports_, id = id_of(ended.host), reason = ended.reason] {
      ports->close_channel(id, reason);
    });
  }
  for (const cluster::MemberChannels::Ended& ended : cables_.look(view_->members))
    parts_.cables.cut(ended.host, ended.reason);
}

model::ChannelProblem ClusterFabric::why_closed(const std::string& name,
                                                const inventory::Host& host) const {
  if (!maker_) {
    return {.text = "closed on this host: " + place_.closed.why,
            .remedy = place_.closed.remedy,
            .host = self_};
  }
  // The others do not accept a host that they do not know, and release 0.1.0 loses a channel that
  // is made before it knows it.
  const auto own = view_->hosts.find(self_);
  if (own == view_->hosts.end() || !own->second.info) {
    return {.text = "this host is not in the cluster's inventory yet"};
  }
  if (host.info->closed.empty()) return {};
  return {.text = "closed on that host: " + host.info->closed,
          .remedy = model::reopen(host.info->closed_by, model::kManagementVmknic),
          .host = name};
}

void ClusterFabric::on_made(const std::shared_ptr<cluster::MadeChannel>& made) {
  const transport_channel::ChannelConfig config{.host = id_of(made->host),
                                                .number = made->number,
                                                .send_key = made->send_key,
                                                .receive_key = made->receive_key,
                                                .seals_payload = config_.channel.seals_payload,
                                                .leads = made->dialed};
  parts_.worker.post([ports = &ports_, config, made, log = not_opened_] {
    if (const Status opened = ports->open_channel(config, std::move(made->stream)); !opened) {
      log->error(std::chrono::steady_clock::now(), "channels: {}", opened.error().message);
    }
  });
  channels_.on_made(made->host, made->key);
  if (view_) end_channels_of_others();  // it was judged by what was known then
}

model::ChannelProblem ClusterFabric::explain(const std::string& host,
                                             const std::string& problem) const {
  model::ChannelProblem unexplained{.text = problem};
  if (problem.empty() || !view_) return unexplained;
  const auto known = view_->hosts.find(host);
  if (known == view_->hosts.end() || !known->second.info) return unexplained;
  const model::ChannelProblem closed = why_closed(host, known->second);
  return closed.is_open() ? unexplained : closed;
}

void ClusterFabric::on_changed(const std::string& host, const model::ChannelProblem& problem) {
  parts_.cluster.set_channel(host, problem);
  const std::string text = describe(problem);
  for (model::Event& event : watch_.on_channel(host, text, std::chrono::steady_clock::now())) {
    parts_.tell(std::move(event));
  }
  if (problem.is_open()) return;  // the worker has the channel itself
  parts_.worker.post(
      [ports = &ports_, id = id_of(host), text] { ports->set_channel_problem(id, text); });
}

void ClusterFabric::on_channel_lost(const transport_channel::LostChannel& lost) {
  const std::string host = name_of(lost.host);
  if (!maker_ || host.empty()) return;
  if (!lost.is_held) return maker_->on_lost(host, lost.number, lost.reason);
  maker_->on_lost(host, lost.number, "requests wait for the host: " + lost.reason,
                  cluster::ChannelMaker::Again::kSoon);
}

void ClusterFabric::on_trunk(const worker::TrunkNews& news) {
  const std::string host = name_of(news.host);
  if (host.empty()) return;
  const Instant now = std::chrono::steady_clock::now();
  for (model::Event& event : watch_.on_trunk(host, news.device, news.reason, now)) {
    parts_.tell(std::move(event));
  }
}

void ClusterFabric::on_gids(const std::vector<worker::SharedGid>& gids) {
  std::map<inventory::GidId, model::AdapterName> claims;
  std::map<inventory::GidId, model::AdapterName> unlinked;
  for (const worker::SharedGid& shared : gids) {
    (shared.linked ? claims : unlinked)[{.segment = static_cast<std::uint64_t>(shared.segment),
                                         .gid = shared.gid.raw,
                                         .type = type_of(shared.type)}] = shared.adapter;
  }
  parts_.cluster.set_gids(std::move(claims), std::move(unlinked));
}

}  // namespace paravane::daemon
