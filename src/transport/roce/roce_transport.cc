#include "transport/roce/roce_transport.h"

#include <algorithm>
#include <utility>

#include "transport/roce/datagrams.h"
#include "transport/roce/opcode_facts.h"
#include "verbs/ack_timing.h"
#include "verbs/connection.h"
#include "verbs/grh.h"
#include "wire/roce/probe.h"
#include "wire/roce/superframe.h"

namespace paravane::transport_roce {

using verbs::AdapterId;
using verbs::Outcome;
using verbs::QueuePair;
using wire::roce::Frame;
using wire::roce::FrameFault;
using wire::roce::Opcode;
using wire::roce::Packet;

namespace {

// Of one port in one turn. A flood costs its own adapter's turns; the door drops what it cannot
// hold.
constexpr std::uint32_t kFramesPerTurn = 64;

// Of notifications of congestion: DSCP 48, the default of adapters.
constexpr std::uint8_t kNoticeClass = 48 << 2;

// As many frames as can stand before a door: the length of a RoCE port's queue.
constexpr std::uint64_t kMostWaiting = 8192;

// A timer that is so much too late is left as it is.
constexpr Duration kTimerSlack = std::chrono::milliseconds(1);

constexpr Outcome kTryLater{.kind = Outcome::Kind::kMemoryAbsent,
                            .status = verbs::WcStatus::kSuccess};

// IBTA 10.9.1.1. We are full members of the default partition, which both kinds of members reach.
bool is_our_partition(const Packet& packet) {
  constexpr std::uint16_t kPartition = 0x7FFF;
  return (packet.pkey & kPartition) == (wire::roce::kDefaultPkey & kPartition);
}

// The connection cannot be used for this, now or later.
constexpr Outcome kOver{.kind = Outcome::Kind::kRefused, .status = verbs::WcStatus::kRetryExceeded};

bool is_datagram(Opcode opcode) {
  return opcode == Opcode::kDatagramOnly || opcode == Opcode::kDatagramOnlyImm;
}

}  // namespace

// Its flows, if it had a door before, or was loaded, go on.
void RoceTransport::attach(verbs::Adapter& adapter, const wire::roce::MacBytes& mac,
                           FrameDoor& door) {
  std::shared_ptr<RocePort> port = made_port_of(adapter);
  const bool is_known = port != nullptr && port->own == own_end(mac);
  if (is_known) stop_probes(*port);
  if (!is_known) port = make_port(adapter, mac);
  port->outlet.use(nullptr);
  port->outlet.use(&port->door.emplace(adapter, door));
  count_open();
  adapter.for_each_qp([this](QueuePair& qp) {
    if (known_flow_of(qp) != nullptr) qp.on_path_back();
  });
}

OwnEnd RoceTransport::own_end(const wire::roce::MacBytes& mac) const {
  return {.mac = mac, .traffic_class = traffic_class_};
}

std::shared_ptr<RocePort> RoceTransport::made_port_of(const verbs::Adapter& adapter) const {
  const auto index = static_cast<std::size_t>(std::to_underlying(adapter.id()));
  const bool is_made =
      index < ports_.size() && ports_[index] && &ports_[index]->adapter == &adapter;
  return is_made ? ports_[index] : nullptr;
}

std::shared_ptr<RocePort> RoceTransport::make_port(verbs::Adapter& adapter,
                                                   const wire::roce::MacBytes& mac) {
  const auto index = static_cast<std::size_t>(std::to_underlying(adapter.id()));
  if (ports_.size() <= index) ports_.resize(index + 1);
  if (ports_[index]) stop_probes(*ports_[index]);
  ports_[index] = std::make_shared<RocePort>(adapter, own_end(mac), allowance_, probed_ways_);
  return ports_[index];
}

void RoceTransport::detach(verbs::Adapter& adapter) {
  const auto index = static_cast<std::size_t>(std::to_underlying(adapter.id()));
  if (index >= ports_.size() || !ports_[index]) return;
  RocePort& port = *ports_[index];
  stop_probes(port);
  port.outlet.use(nullptr);
  port.door.reset();
  while (RoceFlow* late = port.late.call()) arm(*late);
  count_open();
}

void RoceTransport::count_open() {
  open_ = static_cast<std::size_t>(std::ranges::count_if(
      ports_, [](const auto& port) { return port != nullptr && port->door.has_value(); }));
}

Instant RoceTransport::resumes(AdapterId id) const {
  const std::shared_ptr<RocePort> port = port_of(id);
  return port != nullptr ? port->guard.resumes() : Instant{};
}

std::shared_ptr<RocePort> RoceTransport::port_of(AdapterId id) const {
  const auto index = static_cast<std::size_t>(std::to_underlying(id));
  const bool is_open = index < ports_.size() && ports_[index] && ports_[index]->door.has_value();
  return is_open ? ports_[index] : nullptr;
}

const RoceCounters* RoceTransport::counters_of(AdapterId id) const {
  const std::shared_ptr<RocePort> port = port_of(id);
  return port != nullptr ? &port->counters : nullptr;
}

RoceFlow* RoceTransport::known_flow_of(const QueuePair& qp) const {
  return static_cast<RoceFlow*>(qp.path_state(*this));
}

RoceFlow& RoceTransport::flow_of(QueuePair& qp, const std::shared_ptr<RocePort>& port) {
  if (RoceFlow* known = known_flow_of(qp)) {
    known->follow();
    return *known;
  }
  auto made = std::make_unique<RoceFlow>(*this, qp, port);
  RoceFlow& flow = *made;
  qp.add_path_state(std::move(made));
  return flow;
}

std::optional<RoceTransport::NextPackets> RoceTransport::next_packets(const QueuePair& qp) const {
  const RoceFlow* flow = known_flow_of(qp);
  if (flow == nullptr) return std::nullopt;
  return NextPackets{.expected = flow->responder.expected(),
                     .unanswered = flow->requester.unanswered()};
}

void RoceTransport::schedule(RoceFlow& flow) {
  if (flow.sending.taken() || !flow.has_to_send()) return;
  RocePort& port = *flow.port;
  // Those that wait are before those that have room to go on.
  const bool waits = port.window.is_full() || !port.waiting.empty();
  if (!waits || flow.has_answers_to_send()) {
    port.waiting.leave(flow.waiting);
    port.sending.join(flow, flow.sending);
  } else if (!flow.waiting.taken()) {
    port.waiting.join(flow, flow.waiting);
  }
}

RoceFlow* RoceTransport::next_to_send(RocePort& port) {
  RoceFlow* const waiting = port.window.is_full() ? nullptr : port.waiting.call();
  return waiting != nullptr ? waiting : port.sending.call();
}

// One timer for a flow, which is set anew when it has expired, or is far too late: the deadline
// moves with each acknowledgement.
void RoceTransport::arm(RoceFlow& flow) {
  const Instant deadline = flow.requester.deadline();
  if (deadline == kNever || flow.late.taken()) return;
  if (flow.timer != TimerId::kNone) {
    if (flow.armed_for <= deadline + kTimerSlack) return;
    flow.port->adapter.timers().cancel(flow.timer);
  }
  flow.armed_for = deadline;
  flow.timer = flow.port->adapter.timers().set(deadline,
                                               [this, &flow](Instant now) { on_timer(flow, now); });
}

// A worker that did not run has not read either: what it waited for counts as lost when all that
// stood before the door has been read.
void RoceTransport::on_timer(RoceFlow& flow, Instant now) {
  flow.timer = TimerId::kNone;
  RocePort& port = *flow.port;
  if (!port.door) return expire(flow, now);
  flow.late_until = port.frames_read + kMostWaiting;
  port.late.join(flow, flow.late);
}

void RoceTransport::expire_late(RocePort& port, bool is_dry, verbs::Budget& budget) {
  while (RoceFlow* flow = port.late.first()) {
    if (!is_dry && port.frames_read < flow->late_until) return;
    port.late.leave(flow->late);
    expire(*flow, clock_.now);
    budget.operations -= 1;
    if (budget.spent()) return;
  }
}

void RoceTransport::expire(RoceFlow& flow, Instant now) {
  if (flow.is_path()) {
    flow.requester.on_timer(now);
  } else {
    flow.give_up(now);  // also where the port is closed, and nothing is composed
  }
  schedule(flow);
  arm(flow);
}

std::optional<Outcome> RoceTransport::submit(QueuePair& qp, const verbs::Path& /*path*/,
                                             const verbs::SendRequest& request,
                                             verbs::Budget& /*budget*/) {
  const std::shared_ptr<RocePort> port = port_of(qp.adapter().id());
  if (port == nullptr) return verbs::kNoAnswer;
  scratch_.clear();
  const std::uint64_t first = std::min(request.sges.total_bytes(), verbs::kSliceBytes);
  const verbs::AccessMask need =
      verbs::brings_bytes(request.opcode) ? verbs::AccessMask{verbs::kAccessLocalWrite} : 0;
  if (const Outcome own = qp.gather(request, 0, first, need, scratch_); !is_done(own)) return own;
  RoceFlow& flow = flow_of(qp, port);
  if (!flow.requester.started()) {
    flow.requester.start(verbs::Psn(qp.query().send_psn));
  }
  if (!flow.requester.may_go_on(request)) return kOver;
  if (!flow.facts.fits(port->door->mtu())) {
    port->counters.too_long.add();
    return kOver;
  }
  if (!flow.requester.has_room_for(request)) return kTryLater;
  flow.requester.submit(request, clock_.now);
  schedule(flow);
  arm(flow);
  return std::nullopt;
}

void RoceTransport::cancel(QueuePair& qp) {
  if (RoceFlow* flow = known_flow_of(qp)) flow->requester.cancel();
}

std::optional<Outcome> RoceTransport::send_datagram(QueuePair& qp, const verbs::Path& path,
                                                    const verbs::DatagramSource& source,
                                                    const verbs::SendRequest& request) {
  const std::shared_ptr<RocePort> port = port_of(qp.adapter().id());
  if (port == nullptr) return Outcome{};
  scratch_.clear();
  const std::uint64_t bytes = request.sges.total_bytes();
  if (const Outcome own = qp.gather(request, 0, bytes, 0, scratch_); !is_done(own)) return own;
  Packet packet = datagram_packet(source, request, static_cast<std::uint32_t>(bytes), port->own);
  if (path.one_hop) packet.route.hop_limit = kOneHop;
  if (bytes + most_headers(packet.route.network) > port->door->mtu()) {
    port->counters.too_long.add();  // a network loses it
    return Outcome{};
  }
  switch (port->outlet.add(packet, scratch_)) {
    case Outlet::Added::kDone: return Outcome{};
    case Outlet::Added::kFull: return kTryLater;
    case Outlet::Added::kMemoryFailed: break;
  }
  return Outcome{.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal};
}

// Only what impairs a path copies datagrams, and it stands before no path of this kind. A datagram
// may be lost.
void RoceTransport::send_copied_datagram(const verbs::Path& path,
                                         const verbs::DatagramSource& source,
                                         const verbs::SendRequest& request,
                                         std::span<const std::byte> payload) {
  const std::shared_ptr<RocePort> port = port_of(path.peer);
  if (port == nullptr) return;
  static_cast<void>(port->outlet.add(
      datagram_packet(source, request, static_cast<std::uint32_t>(payload.size()), port->own),
      payload));
}

void RoceTransport::poll(Instant /*now*/, verbs::Budget& budget) {
  const std::size_t count = ports_.size();
  const std::size_t first = turn_;
  bool is_first = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (first + i) % count;
    const std::shared_ptr<RocePort> port = ports_[index];
    if (port == nullptr || !port->door) continue;
    if (std::exchange(is_first, false)) turn_ = index + 1;  // so that each open port is the first
    const bool is_dry = receive(port, budget);
    expire_late(*port, is_dry, budget);
    send(*port, budget);
  }
}

bool RoceTransport::has_work() const {
  return std::ranges::any_of(ports_, [](const std::shared_ptr<RocePort>& port) {
    return port && port->door.has_value() &&
           (!port->sending.empty() || !port->late.empty() || port->outlet.holding() ||
            (!port->waiting.empty() && !port->window.is_full()));
  });
}

void RoceTransport::send(RocePort& port, verbs::Budget& budget) {
  while (!budget.spent()) {
    RoceFlow* flow = next_to_send(port);
    if (flow == nullptr) break;
    const std::int32_t before = budget.operations;
    const bool has_room = compose(*flow, port, budget);
    if (budget.operations == before) budget.operations -= 1;  // nothing is for nothing
    schedule(*flow);
    arm(*flow);
    if (!has_room) break;
  }
  port.outlet.flush();
}

bool RoceTransport::notify(RoceFlow& flow, RocePort& port) const {
  if (!flow.notices.is_due()) return true;
  Packet packet = flow.facts.packet(Opcode::kCongestionNotification, verbs::Psn(0));
  packet.migrated = false;  // as adapters send it
  packet.becn = true;
  packet.route.traffic_class = kNoticeClass;
  if (port.outlet.add(packet) != Outlet::Added::kDone) return false;
  port.counters.notices_sent.add();
  flow.notices.on_sent(clock_.now);
  return true;
}

// Neither half takes the turn of the other.
bool RoceTransport::compose(RoceFlow& flow, RocePort& port, verbs::Budget& budget) {
  if (!flow.is_path()) {
    flow.give_up(clock_.now);
    return true;
  }
  follow_router(flow, port);
  flow.answers_first = !flow.answers_first;
  const auto answer = [&] { return flow.responder.compose(port.outlet, budget); };
  const auto ask = [&] { return flow.requester.compose(port.outlet, budget, clock_.now); };
  if (!notify(flow, port)) return false;
  return flow.answers_first ? answer() && ask() : ask() && answer();
}

bool RoceTransport::receive(const std::shared_ptr<RocePort>& port, verbs::Budget& budget) {
  for (std::uint32_t frames = 0; frames < kFramesPerTurn && !budget.spent(); ++frames) {
    if (!port->guard.may_read(clock_.now, open_)) return true;
    const std::optional<FrameDoor::Received> received = port->door->receive();
    if (!received) return true;
    ++port->frames_read;
    frame_bytes_ = received->bytes.size();
    budget.bytes -= static_cast<std::int64_t>(frame_bytes_);
    budget.operations -= 1;
    if (received->segment_bytes == 0) {
      on_frame(port, wire::roce::parse_frame(received->bytes));
      continue;
    }
    auto superframe = wire::roce::Superframe::open(received->bytes, received->segment_bytes);
    if (superframe && superframe->segments() > wire::roce::Superframe::kMostOfLinux) {
      superframe = std::unexpected(FrameFault::kBadSegments);
    }
    if (!superframe) {
      on_frame(port, std::unexpected(superframe.error()));
      continue;
    }
    budget.operations -= static_cast<std::int32_t>(superframe->segments());
    frame_bytes_ = received->segment_bytes;
    while (const auto frame = superframe->next()) on_frame(port, *frame);
  }
  return false;
}

void RoceTransport::on_frame(const std::shared_ptr<RocePort>& port,
                             const std::expected<Frame, FrameFault>& frame) {
  port->counters.packets_received.add();
  if (frame) return on_packet(port, *frame);
  RoceCounters& counters = port->counters;
  if (frame.error() == FrameFault::kNotRoce) return refuse(*port, counters.other_frames);
  if (frame.error() == FrameFault::kBadIcrc) return refuse(*port, counters.icrc_errors);
  refuse(*port, counters.frames_refused);
}

void RoceTransport::refuse(RocePort& port, Counter& why) const {
  why.add();
  port.guard.on_useless(frame_bytes_);
}

void RoceTransport::on_packet(const std::shared_ptr<RocePort>& port, const Frame& frame) {
  const Packet& packet = frame.packet;
  RoceCounters& counters = port->counters;
  if (packet.route.destination_mac != port->own.mac) return refuse(*port, counters.foreign_mac);
  if (wire::roce::is_probe(packet.opcode)) {
    return is_our_partition(packet) ? on_probe(*port, frame)
                                    : refuse(*port, counters.partition_mismatches);
  }
  QueuePair* qp = port->adapter.find_qp(packet.destination_qp);
  const bool is_connected = qp != nullptr && qp->type() == verbs::QpType::kReliableConnected;
  if (qp == nullptr || is_connected == is_datagram(packet.opcode)) {
    return refuse(*port, counters.unknown_qp);
  }
  if (!is_our_partition(packet)) return refuse(*port, counters.partition_mismatches);
  if (!is_connected) return on_datagram(*port, *qp, frame);
  if (!is_from_peer(*qp, packet)) return refuse(*port, counters.forged_source);
  last_frame_ = clock_.now;
  if (!qp->responder().listens()) return;
  RoceFlow& flow = flow_of(*qp, port);
  on_connection_packet(flow, frame);
  // Many packets come at once. send(), which follows, looks once whether there is something to
  // send, and sets the timer.
  if (!flow.sending.taken()) flow.port->sending.join(flow, flow.sending);
}

// rdma_rxe has no rule for notifications and may take one for an acknowledgement, so none goes
// there.
void RoceTransport::on_connection_packet(RoceFlow& flow, const Frame& frame) {
  const Packet& packet = frame.packet;
  if (flow.probe) flow.probe->on_packet(clock_.now);
  if (packet.opcode == Opcode::kCongestionNotification) {
    flow.port->counters.notices_received.add();
    return flow.requester.on_congestion(clock_.now);
  }
  flow.facts.peer_is_adapter = packet.migrated;
  const bool is_marked =
      wire::roce::ecn_of(packet.route.traffic_class) == wire::roce::Ecn::kCongestionExperienced;
  if (is_marked && packet.migrated) flow.notices.on_mark(clock_.now);
  if (facts_of(packet.opcode).kind == PacketKind::kAnswer) {
    flow.requester.on_answer(frame, clock_.now);
  } else {
    flow.responder.on_request(frame);
  }
}

// No packet speaks for a GID that an adapter of this host or of the cluster has.
bool RoceTransport::is_from_peer(QueuePair& qp, const Packet& packet) const {
  const verbs::Connection& connection = qp.connection();
  if (!connection.is_set() || connection.gid_type() != gid_type_of(packet) ||
      connection.dgid() != verbs::Gid{packet.route.source} ||
      connection.sgid() != verbs::Gid{packet.route.destination}) {
    return false;
  }
  return carries(qp.path());
}

void RoceTransport::on_datagram(RocePort& port, QueuePair& qp, const Frame& frame) {
  const verbs::GidType type = gid_type_of(frame.packet);
  const verbs::DatagramSource source = datagram_source(frame.packet);
  const auto way = port.adapter.fabric().find(source.sgid, type);
  const bool is_ours = port.adapter.owns_gid(verbs::Gid{frame.packet.route.destination}, type);
  if (!is_ours || !way || !carries(&*way)) {
    return refuse(port, port.counters.forged_source);
  }
  if (!qp.responder().datagram(source, datagram_request(frame.packet), frame.payload)) {
    return refuse(port, port.counters.datagrams_dropped);
  }
  last_frame_ = clock_.now;
}

}  // namespace paravane::transport_roce
