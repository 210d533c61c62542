// The probes of routers in RoceTransport: what sends and answers them (router_probe.h).

#include <sys/random.h>

#include <optional>
#include <utility>

#include "transport/roce/datagrams.h"
#include "transport/roce/roce_transport.h"
#include "verbs/connection.h"
#include "wire/roce/probe.h"

namespace paravane::transport_roce {

using wire::roce::Opcode;
using wire::roce::Packet;
using wire::roce::ProbeNonce;

namespace {

// Of one port. Each answer also counts as a useless frame (flood_guard.h), as anyone can ask in
// the name of an adapter.
constexpr std::int64_t kAnswersPerSecond = 256;
constexpr std::int64_t kMostAnswersKept = 64;

// Linux's default. An answer has its own way back.
constexpr std::uint8_t kAnswerHops = 64;

constexpr std::uint16_t kProbePort = 0xC000;  // UDP's, at the sender: any of Linux's range

// nullopt: the kernel has no random numbers yet.
std::optional<ProbeNonce> random_nonce() {
  ProbeNonce nonce;
  const ssize_t got = ::getrandom(nonce.data(), nonce.size(), GRND_NONBLOCK);
  if (got != static_cast<ssize_t>(nonce.size())) return std::nullopt;
  return nonce;
}

Packet probe_over(const RouterProbe& probe, const OwnEnd& own) {
  return wire::roce::probe_packet(Opcode::kProbe, {.network = probe.network(),
                                                   .source_mac = own.mac,
                                                   .destination_mac = probe.way().gateway,
                                                   .source = probe.way().own.raw,
                                                   .destination = probe.way().peer.raw,
                                                   .traffic_class = own.traffic_class,
                                                   .hop_limit = probe.way().hop_limit,
                                                   .udp_source_port = kProbePort});
}

// To where the probe came from.
Packet answer_to(const Packet& probe, const OwnEnd& own) {
  return wire::roce::probe_packet(Opcode::kProbeAnswer, {.network = probe.route.network,
                                                         .source_mac = own.mac,
                                                         .destination_mac = probe.route.source_mac,
                                                         .source = probe.route.destination,
                                                         .destination = probe.route.source,
                                                         .traffic_class = own.traffic_class,
                                                         .hop_limit = kAnswerHops,
                                                         .udp_source_port = kProbePort});
}

}  // namespace

bool RoceTransport::is_routed_to(RocePort& port, const verbs::Gid& peer) const {
  const auto path = port.adapter.fabric().find(peer, verbs::GidType::kRoceV2);
  return path && carries(&*path) && path->routed;
}

// Costs nothing where the way stays as it is. The flow uses the probe while it keeps it.
void RoceTransport::follow_router(RoceFlow& flow, RocePort& port) {
  if (!flow.is_routed()) {
    flow.probe.reset();
    flow.is_probe_refused = false;
    return;
  }
  if (flow.probe && !flow.probe->is_over()) return;
  if (flow.is_probe_refused && clock_.now < flow.ask_again) return;
  const wire::roce::Route& route = flow.facts.route;
  flow.probe = port.probes.use(router_way(route), route.network, clock_.now);
  flow.is_probe_refused = flow.probe == nullptr;
  flow.ask_again = clock_.now + RouterProbe::kEvery;
  arm_probes(port);
}

void RoceTransport::arm_probes(RocePort& port) {
  if (port.probe_timer != TimerId::kNone) port.adapter.timers().cancel(port.probe_timer);
  port.probe_timer = TimerId::kNone;
  const Instant due = port.probes.due();
  if (due == kNever) return;
  port.probe_timer = port.adapter.timers().set(due, [this, &port](Instant) {
    port.probe_timer = TimerId::kNone;
    run_probes(port);
    arm_probes(port);
  });
}

void RoceTransport::run_probes(RocePort& port) {
  port.probes.tick(clock_.now, {.leads =
                                    [&](const RouterWay& way) {
                                      return port.adapter.owns_gid(way.own,
                                                                   verbs::GidType::kRoceV2) &&
                                             is_routed_to(port, way.peer);
                                    },
                                .send = [&](const RouterProbe& probe) -> std::optional<ProbeNonce> {
                                  const auto nonce = random_nonce();
                                  if (!nonce) return std::nullopt;
                                  const auto payload = wire::roce::probe_payload(*nonce);
                                  const Packet packet = probe_over(probe, port.own);
                                  if (port.outlet.add(packet, payload) != Outlet::Added::kDone)
                                    return std::nullopt;
                                  port.counters.probes_sent.add();
                                  return nonce;
                                }});
}

// The adapter may be gone, unless there is a timer.
void RoceTransport::stop_probes(RocePort& port) {
  if (port.probe_timer != TimerId::kNone) port.adapter.timers().cancel(port.probe_timer);
  port.probe_timer = TimerId::kNone;
  port.probes.clear();
}

// An answer is never answered. A probe is, if it comes from an adapter of the cluster that is
// reached through a router, which its source address says alone: whoever forges it has an answer
// sent to that adapter, as long as the probe, within the bound.
void RoceTransport::on_probe(RocePort& port, const wire::roce::Frame& frame) {
  const Packet& packet = frame.packet;
  const auto nonce = wire::roce::read_probe(frame.payload);
  if (!nonce || packet.destination_qp != 0) return refuse(port, port.counters.unknown_qp);
  const verbs::Gid own{packet.route.destination};
  const verbs::Gid peer{packet.route.source};
  if (packet.opcode == Opcode::kProbeAnswer) {
    const bool is_good =
        gid_type_of(packet) == verbs::GidType::kRoceV2 && port.probes.on_answer(own, peer, *nonce);
    if (!is_good) return refuse(port, port.counters.bad_probe_answers);
    return port.counters.probes_answered.add();
  }
  port.answers.refill(clock_.now, kAnswersPerSecond, kMostAnswersKept);
  const bool is_peers = gid_type_of(packet) == verbs::GidType::kRoceV2 &&
                        port.adapter.owns_gid(own, verbs::GidType::kRoceV2) &&
                        is_routed_to(port, peer);
  if (!is_peers || !port.answers.is_left()) return refuse(port, port.counters.peer_probes_refused);
  port.answers.spend(1);
  port.guard.on_useless(frame_bytes_);
  const auto payload = wire::roce::probe_payload(*nonce);
  if (port.outlet.add(answer_to(packet, port.own), payload) != Outlet::Added::kDone) return;
  port.counters.peer_probes_answered.add();
}

ProbeReport RoceTransport::probe_of(const verbs::QueuePair& qp) const {
  const std::shared_ptr<RocePort> port = port_of(qp.adapter().id());
  if (port == nullptr || !qp.connection().is_set()) return {};
  const RoceFlow* flow = known_flow_of(qp);
  if (flow != nullptr && flow->is_probe_refused) return {.state = ProbeState::kRefused};
  const RouterWay way = router_way(flow_facts(qp, qp.query(), port->own).route);
  const RouterProbe* probe = port->probes.find(way);
  return probe != nullptr ? probe->report(clock_.now) : ProbeReport{.way = way};
}

std::vector<ProbeReport> RoceTransport::probes_of(verbs::AdapterId id) const {
  const std::shared_ptr<RocePort> port = port_of(id);
  return port != nullptr ? port->probes.reports(clock_.now) : std::vector<ProbeReport>();
}

std::uint64_t RoceTransport::probe_changes(verbs::AdapterId id) const {
  const auto index = static_cast<std::size_t>(std::to_underlying(id));
  return index < ports_.size() && ports_[index] ? ports_[index]->probes.changes() : 0;
}

}  // namespace paravane::transport_roce
