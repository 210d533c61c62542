// RoceTransport: what is saved of an adapter's port, and of the flows of its connections.

#include <algorithm>
#include <vector>

#include "state/counters.h"
#include "transport/roce/roce_transport.h"
#include "verbs/connection.h"
#include "verbs/responder.h"

namespace paravane::transport_roce {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

// Of a port.
constexpr Tag kPortCounters{1};
constexpr Tag kFlow{2};  // a list, by the numbers of the queue pairs
// Of a flow.
constexpr Tag kFlowNumber{1};
constexpr Tag kFlowResponder{2};
constexpr Tag kFlowRequester{3};  // missing: nothing was sent

}  // namespace

// A queue pair in ERR speaks with its peer no more.
std::vector<const RoceFlow*> RoceTransport::flows_of(const verbs::Adapter& adapter) const {
  std::vector<const RoceFlow*> flows;
  adapter.for_each_qp([&](verbs::QueuePair& qp) {
    const RoceFlow* flow = known_flow_of(qp);
    if (flow != nullptr && qp.responder().listens()) flows.push_back(flow);
  });
  std::ranges::sort(flows, {}, [](const RoceFlow* flow) { return flow->qp.number(); });
  return flows;
}

void RoceTransport::save(const verbs::Adapter& adapter, Writer& out) const {
  {
    const Writer::Group group(out, kPortCounters);
    state::save(made_port_of(adapter)->counters.set, out);
  }
  for (const RoceFlow* flow : flows_of(adapter)) {
    const Writer::Group group(out, kFlow);
    out.number(kFlowNumber, flow->qp.number());
    {
      const Writer::Group responder(out, kFlowResponder);
      flow->responder.save(out);
    }
    if (!flow->requester.started()) continue;
    const Writer::Group requester(out, kFlowRequester);
    flow->requester.save(out);
  }
}

void RoceTransport::load(verbs::Adapter& adapter, const wire::roce::MacBytes& mac, Reader& in) {
  const std::shared_ptr<RocePort> port = make_port(adapter, mac);
  Reader counters = in.group(kPortCounters);
  state::load(port->counters.set, counters);
  std::uint32_t last = 0;
  while (auto group = in.group_if(kFlow)) {
    const auto number = static_cast<std::uint32_t>(group->number(kFlowNumber, verbs::Psn::kMask));
    group->expect(number > last, "flows are in no order");
    last = number;
    if (!load_flow(*group, port, number)) return;
  }
  in.end();
}

bool RoceTransport::load_flow(Reader& in, const std::shared_ptr<RocePort>& port,
                              std::uint32_t number) {
  verbs::QueuePair* const qp = port->adapter.find_qp(number);
  const bool may_be = qp != nullptr && qp->type() == verbs::QpType::kReliableConnected &&
                      qp->connection().is_set() && qp->responder().listens();
  if (!in.expect(may_be, "no queue pair can have such a flow") || !in.good()) return false;
  RoceFlow& flow = flow_of(*qp, port);
  Reader responder = in.group(kFlowResponder);
  flow.responder.load(responder);
  if (auto requester = in.group_if(kFlowRequester)) {
    requester->expect(qp->state() != verbs::QpState::kReadyToReceive,
                      "it has sent before it may send");
    flow.requester.load(*requester);
  }
  in.end();
  return in.good();
}

}  // namespace paravane::transport_roce
