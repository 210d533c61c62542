// The responder of datagram queue pairs. Whatever a peer sends can at most be
// dropped: a datagram never harms the queue pair that it is for. (So one that is
// too long for the receive is dropped as well, IBTA 9.9.3 class D, and takes no
// receive: the kernel's QP 1 would lose a buffer for ever each time.)

#include <algorithm>

#include "guestmem/payload.h"
#include "verbs/grh.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/responder.h"
#include "verbs/sge_walk.h"

namespace paravane::verbs {

bool Responder::datagram(const DatagramSource& source, const SendRequest& request,
                         const ExtentList& payload) {
  const std::uint64_t bytes = payload.total_bytes();
  if (!begin_datagram(source, request, bytes)) return false;
  const bool placed = copy_payload(payload, qp_.impl_->adapter.scratch_rest_);
  end_datagram(placed, source, request, bytes);
  return placed;
}

bool Responder::datagram(const DatagramSource& source, const SendRequest& request,
                         std::span<const std::byte> payload) {
  const std::uint64_t bytes = payload.size();
  if (!begin_datagram(source, request, bytes)) return false;
  const bool placed = scatter_payload(payload, qp_.impl_->adapter.scratch_rest_);
  end_datagram(placed, source, request, bytes);
  return placed;
}

std::uint64_t Responder::begin_arrival(const DatagramSource& source, const SendRequest& request,
                                       std::uint64_t bytes) {
  if (!begin_datagram(source, request, bytes)) return 0;
  Rare& kept = rare();
  // What ends needs no memory.
  kept.taken.reserve(kept.taken.size() + kept.arrivals.size() + 1);
  Arrival& arrival = kept.arrivals.emplace_back();
  arrival.name = ++qp_.impl_->adapter.last_arrival_;
  arrival.source = source;
  arrival.request = request;
  arrival.bytes = bytes;
  arrival.receive = std::move(receive_);
  return arrival.name;
}

Responder::Arrival* Responder::find_arrival(std::uint64_t name) {
  if (rare_ == nullptr) return nullptr;
  const auto found = std::ranges::find(rare_->arrivals, name, &Arrival::name);
  return found != rare_->arrivals.end() ? &*found : nullptr;
}

bool Responder::arrival_extents(std::uint64_t arrival, std::uint64_t offset, std::uint64_t length,
                                ExtentList& out) {
  const Arrival* found = find_arrival(arrival);
  return found != nullptr &&
         resolve_sges(qp_.impl_->adapter.regions(), receive_pd(), found->receive->sges,
                      {.offset = kGrhBytes + offset, .length = length}, kAccessLocalWrite,
                      out) == AccessVerdict::kOk;
}

void Responder::end_arrival(std::uint64_t arrival, bool is_whole) {
  Arrival* found = find_arrival(arrival);
  if (found == nullptr) return;
  Arrival ended = std::move(*found);
  rare_->arrivals.erase(rare_->arrivals.begin() + (found - rare_->arrivals.data()));
  if (is_whole && !qp_.impl_->adapter.memory().failed()) {
    return complete_datagram(ended.source, ended.request, ended.bytes, *ended.receive,
                             Reveal::kNow);
  }
  rare_->taken.push_back(std::move(ended.receive));
  end_datagram(false, ended.source, ended.request, ended.bytes);
}

// On true a receive is in hand, its header is written, and the payload goes to
// scratch_rest_.
bool Responder::begin_datagram(const DatagramSource& source, const SendRequest& request,
                               std::uint64_t bytes) {
  QueuePair::Impl& qp = *qp_.impl_;
  if (!fits_datagram(source, bytes)) {
    drop_datagram(source, request, bytes);
    return false;
  }
  const bool with_imm = request.opcode == WrOpcode::kSendWithImm;
  const GrhArea grh = source.header ? *source.header
                                    : build_grh(source.gid_type, source.sgid, request.av,
                                                static_cast<std::uint32_t>(bytes), with_imm);
  const AccessVerdict verdict = find_datagram_bytes(bytes);
  if (verdict == AccessVerdict::kOk && scatter_payload(grh, qp.adapter.scratch_front_)) return true;
  drop_datagram(source, request, bytes);
  if (verdict == AccessVerdict::kOk || verdict == AccessVerdict::kFailed) {
    qp.fail(QpEvent::kFatal);
  } else if (verdict != AccessVerdict::kAbsent) {  // our own program's fault
    fail_receive(WcStatus::kLocalProtectionError, WcStatus::kSuccess);
  }
  return false;
}

// The header's bytes into scratch_front_, the payload's into scratch_rest_.
AccessVerdict Responder::find_datagram_bytes(std::uint64_t payload_bytes) {
  Adapter& adapter = qp_.impl_->adapter;
  ExtentList& front = adapter.scratch_front_;
  ExtentList& rest = adapter.scratch_rest_;
  front.clear();
  rest.clear();
  const SgeList& sges = receive_->sges;
  if (sges.count == 1 && payload_bytes > 0) {  // as nearly always: found together
    const Sge& sge = sges.entries[0];
    const auto both = adapter.regions().find_extent(receive_pd(), sge.lkey, sge.addr,
                                                    kGrhBytes + payload_bytes, kAccessLocalWrite);
    if (both) {
      front.append(*both, 0, kGrhBytes);
      rest.append(*both, kGrhBytes, payload_bytes);
      return AccessVerdict::kOk;
    }
  }
  const AccessVerdict verdict =
      resolve_sges(adapter.regions(), receive_pd(), sges, {.offset = 0, .length = kGrhBytes},
                   kAccessLocalWrite, front);
  if (verdict != AccessVerdict::kOk) return verdict;
  return resolve_sges(adapter.regions(), receive_pd(), sges,
                      {.offset = kGrhBytes, .length = payload_bytes}, kAccessLocalWrite, rest);
}

void Responder::end_datagram(bool placed, const DatagramSource& source, const SendRequest& request,
                             std::uint64_t bytes, Reveal when) {
  QueuePair::Impl& qp = *qp_.impl_;
  if (placed) {
    std::unique_ptr<ReceiveRequest> receive = std::move(receive_);
    complete_datagram(source, request, bytes, *receive, when);
    qp.adapter.spare_receive_ = std::move(receive);
    return;
  }
  drop_datagram(source, request, bytes);
  if (qp.adapter.memory().failed()) qp.fail(QpEvent::kFatal);
}

void Responder::complete_datagram(const DatagramSource& source, const SendRequest& request,
                                  std::uint64_t bytes, const ReceiveRequest& receive, Reveal when) {
  QueuePair::Impl& qp = *qp_.impl_;
  qp_.adapter_.observe(
      [&](Observer& observer) { tell_datagram(observer, source, request, bytes, receive); });
  ++qp.stats.receives;
  qp.stats.received_bytes += bytes;
  qp.counters().receives.add();
  qp.counters().received_bytes.add(bytes);
  Completion completion = completion_of(receive.wr_id, WcStatus::kSuccess);
  completion.with_grh = true;
  completion.with_imm = request.opcode == WrOpcode::kSendWithImm;
  if (completion.with_imm) completion.imm = request.imm;
  completion.solicited = request.solicited;
  completion.network_header = network_header_of(source.gid_type, source.sgid, request.av.dgid);
  completion.service_level = request.av.service_level;
  completion.byte_len = static_cast<std::uint32_t>(kGrhBytes + bytes);
  completion.source_qpn = source.qpn;
  qp.push(*qp.spec.receive_cq, completion, when);
}

bool Responder::takes_datagram_directly(const DatagramSource& source) const {
  const QueuePair::Impl& qp = *qp_.impl_;
  return qp.spec.type != QpType::kReliableConnected && listens() &&
         source.qkey == qp.attributes.qkey;
}

// On true a receive is in hand that the datagram and its header fit into.
bool Responder::fits_datagram(const DatagramSource& source, std::uint64_t payload_bytes) {
  QueuePair::Impl& qp = *qp_.impl_;
  if (qp.spec.type == QpType::kReliableConnected || !listens()) return false;
  if (source.qkey != qp.attributes.qkey) {
    qp.counters().qkey_violations.add();
    return false;
  }
  if (!is_done(want_receive(WrOpcode::kSend))) return false;
  return kGrhBytes + payload_bytes <= receive_->sges.total_bytes();
}

void Responder::drop_datagram(const DatagramSource& source, const SendRequest& request,
                              std::uint64_t bytes) {
  qp_.adapter_.observe([&](Observer& observer) { tell_dropped(observer, source, request, bytes); });
  qp_.impl_->counters().datagrams_dropped.add();
}

}  // namespace paravane::verbs
