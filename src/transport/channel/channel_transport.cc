#include "transport/channel/channel_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "transport/channel/trunk_keys.h"
#include "verbs/connection.h"
#include "verbs/responder.h"

namespace paravane::transport_channel {

using verbs::AdapterId;
using verbs::Gid;
using verbs::GidType;
using verbs::HostId;
using verbs::kNoAnswer;
using verbs::Outcome;
using verbs::Path;
using verbs::QueuePair;

namespace {

// As a NIC that has a backlog: the datagram stays in the guest's queue for a while. It is
// lost, as datagrams may be, when that does not end.
constexpr Outcome kTryLater{.kind = Outcome::Kind::kMemoryAbsent,
                            .status = verbs::WcStatus::kSuccess};

std::optional<GidType> gid_type_of(std::uint8_t raw) {
  for (const GidType type : {GidType::kRoceV1, GidType::kRoceV2}) {
    if (raw == std::to_underlying(type)) return type;
  }
  return std::nullopt;
}

wire::Datagram datagram_frame(const Path& path, const verbs::DatagramSource& source,
                              const verbs::SendRequest& request) {
  wire::Datagram frame{};
  frame.source_qpn.set(source.qpn);
  frame.dest_qpn.set(request.remote_qpn);
  frame.qkey.set(source.qkey);
  frame.gid_type.set(std::to_underlying(source.gid_type));
  frame.with_imm.set(request.opcode == verbs::WrOpcode::kSendWithImm ? 1 : 0);
  frame.solicited.set(request.solicited ? 1 : 0);
  frame.service_level.set(request.av.service_level);
  frame.imm = request.imm;
  frame.flow_label.set(request.av.flow_label);
  frame.traffic_class.set(request.av.traffic_class);
  frame.hop_limit.set(request.av.hop_limit);
  frame.source_gid = source.sgid.raw;
  frame.dest_gid = request.av.dgid.raw;
  frame.segment.set(std::to_underlying(path.segment));
  return frame;
}

verbs::DatagramSource source_of(const wire::Datagram& frame) {
  return {.sgid = Gid{frame.source_gid},
          .gid_type = gid_type_of(frame.gid_type.get()).value_or(GidType::kRoceV2),
          .qpn = frame.source_qpn.get() & verbs::kQpNumberMask,
          .qkey = frame.qkey.get()};
}

verbs::SendRequest request_of(const wire::Datagram& frame) {
  verbs::SendRequest request;
  request.opcode =
      frame.with_imm.get() != 0 ? verbs::WrOpcode::kSendWithImm : verbs::WrOpcode::kSend;
  request.solicited = frame.solicited.get() != 0;
  request.imm = frame.imm;
  request.av.dgid = Gid{frame.dest_gid};
  request.av.flow_label = frame.flow_label.get();
  request.av.hop_limit = frame.hop_limit.get();
  request.av.traffic_class = frame.traffic_class.get();
  request.av.service_level = frame.service_level.get();
  return request;
}

}  // namespace

ChannelTransport::ChannelTransport(const Config& config, EventLoop& loop, const LocalOwners& owners,
                                   Events events)
    : config_(config),
      loop_(loop),
      owners_(owners),
      events_(std::move(events)),
      holds_(config.holds != nullptr ? *config.holds : own_holds_) {}

ChannelTransport::~ChannelTransport() {
  events_ = {};
  for (auto& [id, host] : hosts_) {
    if (host.channel) end(host, "the daemon is stopping", Instant{});
  }
}

void ChannelTransport::attach(verbs::Adapter& adapter) {
  const std::size_t index = std::to_underlying(adapter.id());
  if (index >= adapters_.size()) adapters_.resize(index + 1);
  assert(adapters_[index] == nullptr);
  adapters_[index] = &adapter;
}

void ChannelTransport::detach(verbs::Adapter& adapter) {
  adapters_[std::to_underlying(adapter.id())] = nullptr;
  adapter.memory().loans().recall_all();
  // Another may have its number soon.
  for (auto& [id, host] : hosts_) {
    if (host.channel) host.channel->forget(adapter.id());
  }
}

Status ChannelTransport::open(ChannelConfig config, std::unique_ptr<Stream> stream, Instant now) {
  close(config.host, "replaced by a newer connection", now);
  config.incarnation = config_.incarnation;
  config.arranges_trunks = config_.arranges_trunks;
  Host& host = hosts_[config.host];
  auto channel = Channel::create(config, std::move(stream), *this, scratch_, now);
  if (!channel) return std::unexpected(channel.error());
  const HostId id = config.host;
  const Status watched = loop_.watch((*channel)->fd(), EPOLLIN, [this, id](std::uint32_t events) {
    const auto found = hosts_.find(id);
    if (found == hosts_.end() || !found->second.channel) return;
    found->second.channel->on_ready((events & ~std::uint32_t{EPOLLIN}) != 0);
  });
  if (!watched) {
    (*channel)->lose(now, kNoAnswer, [](QueuePair&) {});
    return watched;
  }
  host.channel = std::move(*channel);
  host.watches_writable = false;
  host.announced = false;
  return {};
}

void ChannelTransport::close(HostId id, const std::string& reason, Instant now) {
  const auto found = hosts_.find(id);
  if (found != hosts_.end() && found->second.channel) end(found->second, reason, now);
}

void ChannelTransport::end(Host& host, const std::string& reason, Instant now) {
  host.channel->break_off(reason);
  loop_.unwatch(host.channel->fd());
  const std::unique_ptr<Channel> channel = std::move(host.channel);
  const bool is_held = holds_.is_held(channel->host());
  channel->lose(now, is_held ? verbs::kHeld : kNoAnswer,
                [this, &host](QueuePair& qp) { wait_for(host, qp); });
  if (!events_.on_lost) return;
  events_.on_lost({.host = channel->host(),
                   .number = channel->number(),
                   .reason = channel->problem(),
                   .is_held = is_held});
}

const Channel* ChannelTransport::channel_to(HostId id) const {
  const auto found = hosts_.find(id);
  if (found == hosts_.end() || !found->second.channel) return nullptr;
  return found->second.channel->is_open() ? found->second.channel.get() : nullptr;
}

// nullptr: none, in which trunks are arranged.
Channel* ChannelTransport::arranging_channel_to(HostId id) const {
  const auto found = hosts_.find(id);
  if (found == hosts_.end() || !found->second.channel) return nullptr;
  Channel* channel = found->second.channel.get();
  return channel->is_open() && channel->peer_arranges_trunks() ? channel : nullptr;
}

void ChannelTransport::send_trunk_offer(HostId host, const wire::TrunkOffer& frame) {
  if (Channel* channel = arranging_channel_to(host)) channel->send_trunk_offer(frame);
}

void ChannelTransport::send_trunk_ready(HostId host, const wire::TrunkReady& frame) {
  if (Channel* channel = arranging_channel_to(host)) channel->send_trunk_ready(frame);
}

Result<ChannelConfig> ChannelTransport::trunk_config(HostId host, const wire::TrunkNonce& own,
                                                     const wire::TrunkNonce& peer) const {
  const Channel* channel = channel_to(host);
  if (channel == nullptr) return fail(Errc::kBadState, "the channel over TCP has ended");
  const ChannelConfig& over_tcp = channel->config();
  const auto send_key = derive_trunk_key(over_tcp.send_key, own, peer);
  if (!send_key) return std::unexpected(send_key.error());
  const auto receive_key = derive_trunk_key(over_tcp.receive_key, peer, own);
  if (!receive_key) return std::unexpected(receive_key.error());
  return ChannelConfig{.host = host,
                       .send_key = *send_key,
                       .receive_key = *receive_key,
                       .seals_payload = over_tcp.seals_payload};
}

void ChannelTransport::on_trunk_offer(const wire::TrunkOffer& frame, HostId host) {
  if (events_.on_trunk_offer) events_.on_trunk_offer(host, frame);
}

void ChannelTransport::on_trunk_ready(const wire::TrunkReady& frame, HostId host) {
  if (events_.on_trunk_ready) events_.on_trunk_ready(host, frame);
}

Duration ChannelTransport::on_hold(HostId host, Duration wanted) {
  return holds_.begin(host, wanted, now_);
}

void ChannelTransport::hold_peers(Duration time) {
  for (auto& [id, host] : hosts_) {
    if (host.channel && host.channel->is_open() && host.channel->peer_can_hold()) {
      host.channel->send_hold(time);
    }
  }
}

std::vector<PeerHold> ChannelTransport::peer_holds() const {
  using Answer = PeerHold::Answer;
  std::vector<PeerHold> all;
  for (const auto& [id, host] : hosts_) {
    if (!host.channel || !host.channel->is_open()) continue;
    Answer answer = Answer::kCannot;
    if (host.channel->peer_can_hold()) {
      const std::optional<Duration> held = host.channel->held_for();
      answer = !held                      ? Answer::kAwaited
               : *held > Duration::zero() ? Answer::kWaits
                                          : Answer::kRefused;
    }
    all.push_back({.host = id, .answer = answer});
  }
  return all;
}

QpLink* ChannelTransport::known_link_of(const QueuePair& qp) const {
  return static_cast<QpLink*>(qp.path_state(*this));
}

QpLink& ChannelTransport::link_of(QueuePair& qp) {
  if (QpLink* known = known_link_of(qp)) return *known;
  auto made = std::make_unique<QpLink>(*this, qp);
  QpLink& link = *made;
  qp.add_path_state(std::move(made));
  return link;
}

void ChannelTransport::wait_for(Host& host, QueuePair& qp) {
  QpLink& link = link_of(qp);
  if (link.waiting.taken()) link.queue->leave(link.waiting);
  link.queue = &host.waiting;
  host.waiting.join(qp, link.waiting);
}

std::optional<Outcome> ChannelTransport::submit(QueuePair& qp, const Path& path,
                                                const verbs::SendRequest& request,
                                                verbs::Budget& /*budget*/) {
  Host& host = hosts_[path.host];
  if (!host.channel || !host.channel->is_open()) {
    wait_for(host, qp);
    return holds_.is_held(path.host) ? verbs::kHeld : kNoAnswer;
  }
  link_of(qp).outbound.submit(request, path, *host.channel);
  return std::nullopt;
}

void ChannelTransport::cancel(QueuePair& qp) {
  qp.adapter().memory().loans().recall_queue_pair(qp.number());
  QpLink* link = known_link_of(qp);
  if (link == nullptr) return;
  link->outbound.cancel();
  link->datagram.cancel();
}

void ChannelTransport::tell_peer_ready(QueuePair& qp) {
  if (QpLink* link = known_link_of(qp)) link->inbound.tell_ready();
}

std::optional<Outcome> ChannelTransport::send_datagram(QueuePair& qp, const Path& path,
                                                       const verbs::DatagramSource& source,
                                                       const verbs::SendRequest& request) {
  scratch_.clear();
  const Outcome local = qp.gather(request, 0, request.sges.total_bytes(), 0, scratch_);
  if (!is_done(local)) return local;
  const auto host = hosts_.find(path.host);
  if (host == hosts_.end() || !host->second.channel || !host->second.channel->is_open()) {
    qp.adapter().counters().datagrams_unreachable.add();
    return Outcome{};
  }
  if (scratch_.total_bytes() >= wire::kDirectFrom) {
    link_of(qp).datagram.submit(request, datagram_frame(path, source, request),
                                *host->second.channel);
    return std::nullopt;
  }
  if (!host->second.channel->send_datagram(datagram_frame(path, source, request), scratch_)) {
    return kTryLater;
  }
  return qp.adapter().memory().failed()
             ? Outcome{.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal}
             : Outcome{};
}

void ChannelTransport::send_copied_datagram(const Path& path, const verbs::DatagramSource& source,
                                            const verbs::SendRequest& request,
                                            std::span<const std::byte> payload) {
  const auto host = hosts_.find(path.host);
  if (host == hosts_.end() || !host->second.channel || !host->second.channel->is_open()) return;
  host->second.channel->send_datagram(datagram_frame(path, source, request), payload);
}

QueuePair* ChannelTransport::local_qp(verbs::SegmentId segment, const Gid& gid, GidType type,
                                      std::uint32_t number) const {
  const std::optional<AdapterId> id = owners_.find_local(segment, gid, type);
  if (!id || std::to_underlying(*id) >= adapters_.size()) return nullptr;
  const verbs::Adapter* adapter = adapters_[std::to_underlying(*id)];
  return adapter != nullptr ? adapter->find_qp(number) : nullptr;
}

// Both ends must name each other, by number and by GID, and the fabric must lead from
// ours to the host that speaks for theirs.
InboundLink* ChannelTransport::find_responder(const wire::Open& frame, HostId host) {
  const std::optional<GidType> type = gid_type_of(frame.gid_type.get());
  if (!type) return nullptr;
  const verbs::SegmentId segment{frame.segment.get()};
  QueuePair* qp = local_qp(segment, Gid{frame.responder_gid}, *type, frame.responder_qpn.get());
  if (qp == nullptr || qp->type() != verbs::QpType::kReliableConnected) return nullptr;
  const verbs::Connection& connection = qp->connection();
  if (!connection.is_set() || qp->dest_qpn() != frame.requester_qpn.get() ||
      connection.gid_type() != *type || connection.dgid() != Gid{frame.requester_gid} ||
      connection.sgid() != Gid{frame.responder_gid}) {
    return nullptr;
  }
  const Path* path = qp->path();
  if (path == nullptr || path->host != host) return nullptr;
  // The adapter was found in that segment, and no path leads out of its adapter's.
  assert(path->segment == segment);
  return &link_of(*qp).inbound;
}

QueuePair* ChannelTransport::datagram_target(const wire::Datagram& frame, HostId host) const {
  const std::optional<GidType> type = gid_type_of(frame.gid_type.get());
  if (!type) return nullptr;
  const verbs::SegmentId segment{frame.segment.get()};
  QueuePair* qp = local_qp(segment, Gid{frame.dest_gid}, *type, frame.dest_qpn.get());
  if (qp == nullptr) return nullptr;
  const std::optional<Path> back = qp->adapter().fabric().find(Gid{frame.source_gid}, *type);
  const bool is_the_way = back && back->host == host && back->segment == segment;
  return is_the_way ? qp : nullptr;
}

void ChannelTransport::on_datagram(const wire::Datagram& frame, std::span<const std::byte> payload,
                                   HostId host) {
  QueuePair* qp = datagram_target(frame, host);
  if (qp == nullptr) return;
  qp->responder().datagram(source_of(frame), request_of(frame), payload);
}

std::optional<ArrivingDatagram> ChannelTransport::begin_datagram(const wire::Datagram& frame,
                                                                 std::uint64_t bytes, HostId host) {
  QueuePair* qp = datagram_target(frame, host);
  if (qp == nullptr) return std::nullopt;
  const std::uint64_t arrival =
      qp->responder().begin_arrival(source_of(frame), request_of(frame), bytes);
  if (arrival == 0) return std::nullopt;
  return ArrivingDatagram{.frame = frame, .adapter = qp->adapter().id(), .arrival = arrival};
}

QueuePair* ChannelTransport::qp_of(const ArrivingDatagram& datagram) const {
  const verbs::Adapter* adapter = adapters_[std::to_underlying(datagram.adapter)];
  return adapter != nullptr ? adapter->find_qp(datagram.frame.dest_qpn.get()) : nullptr;
}

bool ChannelTransport::place_datagram(const ArrivingDatagram& datagram, std::uint64_t from,
                                      std::uint64_t length, ExtentList& out) {
  QueuePair* qp = qp_of(datagram);
  return qp != nullptr && qp->responder().arrival_extents(datagram.arrival, from, length, out);
}

// Permissions may have changed while it arrived.
void ChannelTransport::end_datagram(const ArrivingDatagram& datagram, bool is_whole, HostId host) {
  QueuePair* qp = qp_of(datagram);
  if (qp == nullptr) return;
  const bool may_reach = datagram_target(datagram.frame, host) == qp;
  qp->responder().end_arrival(datagram.arrival, is_whole && may_reach);
}

void ChannelTransport::release(HostId id) {
  const auto found = hosts_.find(id);
  if (found != hosts_.end()) call_all(found->second);
}

void ChannelTransport::call_all(Host& host) {
  while (QueuePair* qp = host.waiting.call()) qp->on_path_back();
}

void ChannelTransport::announce(HostId id, Host& host, Instant now) {
  host.announced = true;
  holds_.end(id, now);
  call_all(host);
  if (events_.on_open) events_.on_open(id);
}

// Hosts in turn: a different one is first in each call.
void ChannelTransport::poll(Instant now, verbs::Budget& budget) {
  now_ = now;
  holds_.run_due(now);
  const std::size_t first = hosts_.empty() ? 0 : ++turn_ % hosts_.size();
  auto next = std::next(hosts_.begin(), static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (next == hosts_.end()) next = hosts_.begin();
    const HostId id = next->first;
    Host& host = next->second;
    ++next;
    if (!host.channel) continue;
    host.channel->keep_alive(now);
    host.channel->poll(now, budget);
    look_after(id, host, now);
  }
}

void ChannelTransport::look_after(HostId id, Host& host, Instant now) {
  const Channel& channel = *host.channel;
  if (channel.broken()) return end(host, channel.problem(), now);
  if (channel.is_open() && !host.announced) announce(id, host, now);
  if (channel.wants_writable() == host.watches_writable) return;
  host.watches_writable = channel.wants_writable();
  const std::uint32_t events = host.watches_writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (const Status changed = loop_.change(channel.fd(), events); !changed) {
    end(host, changed.error().message, now);
  }
}

bool ChannelTransport::has_work() const {
  return std::ranges::any_of(hosts_, [](const auto& entry) {
    const Channel* channel = entry.second.channel.get();
    return channel != nullptr && (channel->has_work() || channel->broken());
  });
}

Instant ChannelTransport::last_message() const {
  Instant last{};
  for (const auto& [id, host] : hosts_) {
    if (host.channel) last = std::max(last, host.channel->last_heard());
  }
  return last;
}

void ChannelTransport::look_at_sockets() {
  for (auto& [id, host] : hosts_) {
    if (host.channel) host.channel->on_ready(false);
  }
}

Instant ChannelTransport::next_look() const {
  Instant next = holds_.next_due();
  for (const auto& [id, host] : hosts_) {
    if (host.channel) next = std::min(next, host.channel->next_look());
  }
  return next;
}

}  // namespace paravane::transport_channel
