// RoceFlow is the state of one connected queue pair in the RoCE transport: both halves of its
// connection to a native endpoint.
//
// It stays while the path of its queue pair leads elsewhere, since the peer's numbers of packets go
// on where they were. Owner thread only.

#pragma once

#include <cstdint>
#include <memory>

#include "base/line.h"
#include "base/timers.h"
#include "transport/roce/congestion_notices.h"
#include "transport/roce/flow_facts.h"
#include "transport/roce/requester_flow.h"
#include "transport/roce/responder_flow.h"
#include "transport/roce/router_probe.h"
#include "verbs/transport.h"

namespace paravane::transport_roce {

struct RocePort;

struct RoceFlow final : verbs::PathState {
  RoceFlow(const verbs::Transport& transport, verbs::QueuePair& its_qp,
           std::shared_ptr<RocePort> its_port);
  ~RoceFlow() override;

  // Takes over the attributes that modify() has changed since: the address and the timeout may
  // change in SQD, when nothing is under way.
  void follow();
  // False: the queue pair's path leads elsewhere, or nowhere.
  bool is_path();
  // Whether its path leads through a router, when is_path() was asked last.
  bool is_routed() const { return is_routed_; }
  // The path leads elsewhere: what is under way has no answer, and no answer of ours leaves.
  // Afterwards there is nothing to send.
  void give_up(Instant now);
  // Whatever the shared window has room for.
  bool has_answers_to_send() const { return notices.is_due() || responder.has_to_send(); }
  bool has_to_send() const { return has_answers_to_send() || requester.has_to_send(); }

  verbs::QueuePair& qp;
  const std::shared_ptr<RocePort> port;  // a queue pair may outlive the attachment
  FlowFacts facts;
  RequesterFlow requester;
  ResponderFlow responder;
  CongestionNotices notices;
  Line<RoceFlow>::Place sending;  // among those of its port that have something to send
  Line<RoceFlow>::Place waiting;  // among those that have, when the shared window has room
  Line<RoceFlow>::Place late;     // among those of its port whose timer has expired
  std::uint64_t late_until = 0;   // of the port's frames_read: then it has heard all that came
  TimerId timer = TimerId::kNone;
  Instant armed_for{};         // of `timer`
  bool answers_first = false;  // in its next turn
  // Of the way that its packets take through a router, once they do; nullptr: none is probed.
  std::shared_ptr<RouterProbe> probe;
  bool is_probe_refused = false;  // as many ways are probed as may be
  Instant ask_again{};            // for a probe, after it was refused

 private:
  void take_attributes();
  std::uint64_t followed_ = 0;   // the queue pair's modifications() that are known
  std::uint8_t hop_limit_ = 64;  // of its address; that of its packets may be less
  bool is_routed_ = false;
};

}  // namespace paravane::transport_roce
