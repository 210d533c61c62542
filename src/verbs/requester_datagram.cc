// The requester of datagram queue pairs: each request names its destination, and
// one without a recipient is lost silently, as on a wire.

#include "verbs/grh.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/requester.h"

namespace paravane::verbs {
namespace {

// IBTA 10.2.5: a Q_Key whose upper bit is set in the request stands for the
// queue pair's own, so that programs cannot use controlled ones.
constexpr std::uint32_t kUseOwnQkey = 0x8000'0000;

}  // namespace

void Requester::attempt_datagram(Instant now, Budget& budget) {
  if (blocked_by_others()) return;
  if (qp_.impl_->adapter.gids().size() <= in_hand().av.sgid_index) {
    return complete(WcStatus::kLocalQpOperationError);
  }
  const std::optional<Outcome> outcome = send_datagram(budget);
  if (outcome) return settle(*outcome, now);
  note_carried();
}

std::optional<Outcome> Requester::send_datagram(Budget& budget) {
  QueuePair::Impl& qp = *qp_.impl_;
  const SendRequest& request = in_hand();
  const auto reaches_nobody = [&qp] {
    qp.counters().datagrams_unreachable.add();
    return Outcome{};
  };
  const std::optional<BoundGid> source = qp.adapter.gid(request.av.sgid_index);
  if (!source) return reaches_nobody();
  const DatagramSource from{
      .sgid = source->gid,
      .gid_type = source->type,
      .qpn = qp_.number(),
      .qkey = (request.remote_qkey & kUseOwnQkey) != 0 ? qp.attributes.qkey : request.remote_qkey};
  const bool is_for_many = is_multicast(request.av.dgid);
  if (!is_for_many && !qp.connection.leads(*source, request.av.dgid)) {
    qp.connection.set(*source, request.av.dgid);
  }
  const Path* path = is_for_many ? nullptr : qp_.path();
  qp_.adapter_.observe([&](Observer& observer) { tell_datagram(observer, from); });
  if (path == nullptr) return reaches_nobody();
  budget.bytes -= static_cast<std::int64_t>(request.sges.total_bytes());
  carrier_ = path->transport;
  return carrier_->send_datagram(qp_, *path, from, request);
}

}  // namespace paravane::verbs
