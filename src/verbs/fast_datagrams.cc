#include "verbs/fast_datagrams.h"

#include "guestmem/payload.h"
#include "verbs/grh.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"

namespace paravane::verbs {

FastDatagrams::FastDatagrams(QueuePair& qp)
    : qp_(qp), is_open_(qp.adapter().observer() == nullptr) {}

void FastDatagrams::leave() {
  if (carried_ > 0) transport_->count_direct_datagrams(carried_);
  carried_ = 0;
  recipient_ = nullptr;
  receives_.forget();
}

bool FastDatagrams::find_recipient(const SendRequest& request) {
  QueuePair::Impl& qp = *qp_.impl_;
  const AddressVector& av = request.av;
  leave();
  const std::optional<DatagramSource> source = qp.source_of(request);
  if (!source) return false;
  const Path* path = qp.path_from(*source, av.dgid);
  if (path == nullptr) return false;
  QueuePair* recipient = path->transport->direct_recipient(*path, request.remote_qpn);
  if (recipient == nullptr || recipient == &qp_ || recipient->adapter().observer() != nullptr) {
    return false;
  }
  source_ = *source;
  sgid_index_ = av.sgid_index;
  transport_ = path->transport;
  recipient_ = recipient;
  return true;
}

std::optional<Outcome> FastDatagrams::carry(const SendRequest& request) {
  const bool sends = request.opcode == WrOpcode::kSend || request.opcode == WrOpcode::kSendWithImm;
  if (request.fault != WcStatus::kSuccess || request.sges.count != 1 || !sends) return std::nullopt;
  const Sge& sge = request.sges.entries[0];
  if (sge.length == 0 || sge.length > kMaxDatagramBytes) return std::nullopt;
  const bool is_known = recipient_ != nullptr && request.remote_qpn == recipient_->number() &&
                        request.av.sgid_index == sgid_index_ &&
                        request.av.dgid == qp_.impl_->connection.dgid();
  if (!is_known && !find_recipient(request)) return std::nullopt;
  const auto from = ours_.find_extent(qp_.adapter().regions(), qp_.impl_->spec.pd, sge.lkey,
                                      sge.addr, sge.length, 0);
  if (!from) return std::nullopt;

  source_.qkey = qp_.impl_->qkey_of(request);
  Responder& responder = recipient_->responder();
  if (!responder.takes_datagram_directly(source_)) return std::nullopt;
  hidden_.begin(*recipient_->impl_->spec.receive_cq);
  const auto to = responder.receive_directly(kGrhBytes + std::uint64_t{sge.length}, receives_);
  if (!to) return std::nullopt;
  const GrhArea grh = build_grh(source_.gid_type, source_.sgid, request.av, sge.length,
                                request.opcode == WrOpcode::kSendWithImm);
  const bool placed = scatter_payload(grh, to->part(0, kGrhBytes)) &&
                      copy_payload(*from, to->part(kGrhBytes, sge.length));
  responder.end_datagram(placed, source_, request, sge.length, Reveal::kSoon);
  ++carried_;
  if (placed || !qp_.adapter().memory().failed()) return Outcome{};
  return Outcome{.kind = Outcome::Kind::kLocalError, .status = WcStatus::kFatal};
}

}  // namespace paravane::verbs
