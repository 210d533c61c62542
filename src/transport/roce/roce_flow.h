// RoceFlow is the state of one connected queue pair in the RoCE transport: both halves of its
// connection to a native endpoint.
//
// Owner thread only.

#pragma once

#include <memory>

#include "base/line.h"
#include "base/timers.h"
#include "transport/roce/flow_facts.h"
#include "transport/roce/requester_flow.h"
#include "transport/roce/responder_flow.h"
#include "verbs/transport.h"

namespace paravane::transport_roce {

struct RocePort;

struct RoceFlow final : verbs::PathState {
  RoceFlow(const verbs::Transport& transport, verbs::QueuePair& its_qp,
           std::shared_ptr<RocePort> its_port, const FlowFacts& its_facts,
           const verbs::QpAttributes& attributes);
  ~RoceFlow() override;

  verbs::QueuePair& qp;
  const std::shared_ptr<RocePort> port;  // a queue pair may outlive the attachment
  const FlowFacts facts;
  RequesterFlow requester;
  ResponderFlow responder;
  Line<RoceFlow>::Place sending;  // among those of its port that have something to send
  TimerId timer = TimerId::kNone;
  Instant armed_for{};         // of `timer`
  bool answers_first = false;  // in its next turn
};

}  // namespace paravane::transport_roce
