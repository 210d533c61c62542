#include "transport/roce/roce_flow.h"

#include <utility>

#include "transport/roce/roce_port.h"

namespace paravane::transport_roce {

RoceFlow::RoceFlow(const verbs::Transport& transport, verbs::QueuePair& its_qp,
                   std::shared_ptr<RocePort> its_port, const FlowFacts& its_facts,
                   const verbs::QpAttributes& attributes)
    : PathState(transport),
      qp(its_qp),
      port(std::move(its_port)),
      facts(its_facts),
      requester(qp, facts, port->counters),
      responder(qp, facts, attributes.max_dest_reads, verbs::Psn(attributes.receive_psn),
                port->counters) {}

RoceFlow::~RoceFlow() {
  port->sending.leave(sending);
  qp.adapter().timers().cancel(timer);
}

}  // namespace paravane::transport_roce
