#include "worker/trunks.h"

#include <utility>

namespace paravane::worker {
namespace {

// As for the channels over TCP.
constexpr Duration kWatchAdapter = std::chrono::microseconds(200);

}  // namespace

using verbs::HostId;

Trunks::Trunks(Worker& worker, std::uint64_t incarnation,
               const transport_channel::LocalOwners& owners, fabric::Directory& directory,
               transport_channel::ChannelTransport& tcp, std::function<void(const TrunkNews&)> tell)
    : directory_(directory),
      tcp_(tcp),
      transport_({.incarnation = incarnation, .name = "hca", .holds = &tcp.holds()}, worker.loop(),
                 owners,
                 {.on_lost = [this](const transport_channel::LostChannel& lost) { on_lost(lost); },
                  .on_open = [this](HostId host) { on_open(host); }}),
      tenant_(transport_, worker.schedule().turn_clock(), kWatchAdapter),
      tell_(std::move(tell)) {}

Trunks::~Trunks() = default;

void Trunks::set_listener(TrunkListener* listener, const std::vector<HostId>& hosts, Instant now) {
  for (const HostId host : hosts)
    transport_.close(host, "RDMA adapters are not used any more", now);
  listener_ = listener;
  for (const HostId host : hosts) {
    if (tcp_.channel_to(host) != nullptr) on_channel(host);
  }
}

void Trunks::on_channel(HostId host) {
  const transport_channel::Channel* channel = tcp_.channel_to(host);
  if (!channel->peer_arranges_trunks()) {
    hosts_[host].none = {.why = "is of a release that has no hca path", .at_peer = true};
  } else if (listener_ != nullptr) {
    listener_->on_channel(host, channel->config().leads);
  }
}

// A trunk ends with the channel in which it was arranged.
void Trunks::on_channel_lost(HostId host, Instant now) {
  forget(host, now);
  if (listener_ != nullptr) listener_->on_channel_lost(host);
}

void Trunks::on_offer(HostId host, const wire::TrunkOffer& offer) {
  if (listener_ != nullptr) listener_->on_trunk_offer(host, offer);
}

void Trunks::on_ready(HostId host, const wire::TrunkReady& ready) {
  if (listener_ != nullptr) listener_->on_trunk_ready(host, ready);
}

Status Trunks::open(Trunk trunk, Instant now) {
  auto config = tcp_.trunk_config(trunk.host, trunk.own, trunk.peer);
  if (!config) return std::unexpected(config.error());
  config->number = trunk.number;
  if (Status opened = transport_.open(*config, std::move(trunk.stream), now); !opened)
    return opened;
  hosts_[trunk.host] = {
      .device = std::move(trunk.device), .port = trunk.port, .none = {.why = "being prepared"}};
  return {};
}

void Trunks::set_none(HostId host, TrunkReport report, Instant now) {
  hosts_[host].none = report;
  transport_.close(host, report.at_peer ? "the peer " + report.why : report.why, now);
}

void Trunks::forget(HostId host, Instant now) {
  transport_.close(host, "the channel over TCP has ended", now);
  hosts_.erase(host);
}

void Trunks::on_open(HostId host) {
  directory_.set_via(host, transport_);
  tell(host, "");
}

// The path must lead over TCP before the queue pairs try again.
void Trunks::on_lost(const transport_channel::LostChannel& lost) {
  directory_.set_via(lost.host, tcp_);
  transport_.release(lost.host);
  tell(lost.host, lost.reason);
  if (listener_ != nullptr) listener_->on_trunk_lost(lost.host, lost.number, lost.reason);
}

void Trunks::tell(HostId host, const std::string& reason) {
  const auto known = hosts_.find(host);
  if (!tell_ || known == hosts_.end()) return;
  tell_({.host = host, .device = known->second.device, .reason = reason});
}

verbs::Transport& Trunks::way_to(HostId host) {
  return transport_.channel_to(host) != nullptr ? transport_ : tcp_;
}

TrunkReport Trunks::report(HostId host) const {
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) return {};
  TrunkReport report = known->second.none;
  if (transport_.channel_to(host) == nullptr) return report;
  report.device = known->second.device;
  report.port = known->second.port;
  return report;
}

std::string Trunks::why_copied(verbs::AdapterId adapter, HostId host) const {
  const transport_channel::Channel* trunk = transport_.channel_to(host);
  return trunk != nullptr ? std::string(trunk->why_copied(adapter)) : "";
}

}  // namespace paravane::worker
