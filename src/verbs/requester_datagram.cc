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

std::uint32_t QueuePair::Impl::qkey_of(const SendRequest& request) const {
  return (request.remote_qkey & kUseOwnQkey) != 0 ? attributes.qkey : request.remote_qkey;
}

std::optional<DatagramSource> QueuePair::Impl::source_of(const SendRequest& request) const {
  const std::optional<BoundGid> bound = adapter.gid(request.av.sgid_index);
  if (!bound) return std::nullopt;
  return DatagramSource{
      .sgid = bound->gid, .gid_type = bound->type, .qpn = spec.number, .qkey = qkey_of(request)};
}

const Path* QueuePair::Impl::path_from(const DatagramSource& source, const Gid& dgid) {
  if (is_multicast(dgid)) return nullptr;
  const BoundGid bound{.gid = source.sgid, .type = source.gid_type};
  if (!connection.leads(bound, dgid)) connection.set(bound, dgid);
  return connection.path(adapter, adapter.fabric());
}

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
  const std::optional<DatagramSource> source = qp.source_of(request);
  if (!source) return reaches_nobody();
  const Path* path = qp.path_from(*source, request.av.dgid);
  qp_.adapter_.observe([&](Observer& observer) { tell_datagram(observer, *source); });
  if (path == nullptr) return reaches_nobody();
  budget.bytes -= static_cast<std::int64_t>(request.sges.total_bytes());
  carrier_ = path->transport;
  return carrier_->send_datagram(qp_, *path, *source, request);
}

}  // namespace paravane::verbs
