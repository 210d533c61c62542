#include "transport/roce/roce_flow.h"

#include <utility>

#include "transport/roce/roce_port.h"
#include "verbs/ack_timing.h"

namespace paravane::transport_roce {

// device/memory_bound.cc counts 4 KiB for a flow and its empty queues.
static_assert(sizeof(RoceFlow) <= 1024);

RoceFlow::RoceFlow(const verbs::Transport& transport, verbs::QueuePair& its_qp,
                   std::shared_ptr<RocePort> its_port)
    : PathState(transport),
      qp(its_qp),
      port(std::move(its_port)),
      facts(flow_facts(qp, qp.query(), port->own)),
      requester(qp, facts, port->counters, port->window),
      responder(qp, facts, verbs::Psn(qp.query().receive_psn), port->counters) {
  take_attributes();
}

RoceFlow::~RoceFlow() {
  port->sending.leave(sending);
  port->waiting.leave(waiting);
  port->late.leave(late);
  qp.adapter().timers().cancel(timer);
}

void RoceFlow::follow() {
  if (followed_ != qp.modifications()) take_attributes();
}

void RoceFlow::take_attributes() {
  followed_ = qp.modifications();
  const verbs::QpAttributes attributes = qp.query();
  const bool peer_is_adapter = facts.peer_is_adapter;
  facts = flow_facts(qp, attributes, port->own);
  facts.peer_is_adapter = peer_is_adapter;
  hop_limit_ = facts.route.hop_limit;
  probe.reset();  // the way may be another
  requester.set_timeout(verbs::ack_timeout(attributes.timeout));
  responder.set_max_reads(attributes.max_dest_reads);
}

bool RoceFlow::is_path() {
  const verbs::Path* path = qp.path();
  if (!transport().carries(path)) return false;
  facts.route.hop_limit = path->one_hop ? kOneHop : hop_limit_;
  is_routed_ = path->routed;
  return true;
}

void RoceFlow::give_up(Instant now) {
  notices.drop();
  responder.drop_answers();
  requester.give_up(now);
}

}  // namespace paravane::transport_roce
