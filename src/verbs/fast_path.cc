#include "verbs/fast_path.h"

#include <span>

#include "base/wire_int.h"
#include "guestmem/atomic_word.h"
#include "guestmem/payload.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"

namespace paravane::verbs {

FastPath::FastPath(QueuePair& qp) : qp_(qp) {
  if (qp.type() != QpType::kReliableConnected || qp.adapter().observer() != nullptr) return;
  const Path* path = qp.path();
  if (path == nullptr) return;
  QueuePair* peer = path->transport->direct_peer(qp, *path);
  if (peer == nullptr || peer == &qp || peer->adapter().observer() != nullptr) return;
  if (!peer->responder().takes_directly()) return;
  peer_ = peer;
  transport_ = path->transport;
}

FastPath::~FastPath() {
  if (messages_ > 0) transport_->count_direct(messages_, bytes_);
}

std::optional<Outcome> FastPath::carry(const SendRequest& request) {
  if (request.fault != WcStatus::kSuccess || request.sges.count != 1) return std::nullopt;
  const std::uint64_t length = request.sges.entries[0].length;
  if (length == 0 || length > kSliceBytes) return std::nullopt;
  std::optional<Outcome> outcome;
  switch (request.opcode) {
    case WrOpcode::kSend:
    case WrOpcode::kSendWithImm: outcome = send(request, length); break;
    case WrOpcode::kRdmaWrite:
    case WrOpcode::kRdmaRead: outcome = copy(request, length); break;
    case WrOpcode::kCompareAndSwap:
    case WrOpcode::kFetchAndAdd: outcome = change_word(request, length); break;
    case WrOpcode::kRdmaWriteWithImm:
    case WrOpcode::kSendWithInvalidate:
    case WrOpcode::kLocalInvalidate:
    case WrOpcode::kFastRegister: break;
  }
  if (outcome && is_done(*outcome)) {
    ++messages_;
    bytes_ += length;
  }
  return outcome;
}

std::optional<Extent> FastPath::local(const SendRequest& request, std::uint64_t length) {
  if (brings_bytes(request.opcode) && qp_.impl_->attributes.max_reads == 0) return std::nullopt;
  const Sge& sge = request.sges.entries[0];
  return qp_.adapter().regions().find_extent(qp_.spec().pd, sge.lkey, sge.addr, length,
                                             local_need(request.opcode));
}

std::optional<Outcome> FastPath::copy(const SendRequest& request, std::uint64_t length) {
  const auto ours = local(request, length);
  if (!ours) return std::nullopt;
  const auto theirs = peer_->responder().find_directly(request, length);
  if (!theirs) return std::nullopt;
  const bool reads = request.opcode == WrOpcode::kRdmaRead;
  if (!copy_payload(reads ? *theirs : *ours, reads ? *ours : *theirs)) return blame(qp_, *peer_);
  peer_->responder().count(request.opcode, length);
  return Outcome{};
}

// Once the word is changed, the transport must not change it again.
std::optional<Outcome> FastPath::change_word(const SendRequest& request, std::uint64_t length) {
  if (length != kAtomicBytes || request.remote_addr % kAtomicBytes != 0) return std::nullopt;
  const auto ours = local(request, length);
  if (!ours) return std::nullopt;
  const auto word = peer_->responder().find_directly(request, length);
  if (!word) return std::nullopt;
  const auto before =
      paravane::change_word(*word, word_change(request.opcode, request.compare_add, request.swap));
  if (!before) return std::nullopt;
  const Le64 answer(*before);
  if (!scatter_payload(std::as_bytes(std::span(&answer, 1)), *ours)) {
    return blame(qp_, *peer_);
  }
  peer_->responder().count(request.opcode, length);
  return Outcome{};
}

std::optional<Outcome> FastPath::send(const SendRequest& request, std::uint64_t length) {
  const auto from = local(request, length);
  if (!from) return std::nullopt;
  const auto to = peer_->responder().receive_directly(length);
  if (!to) return std::nullopt;
  if (!copy_payload(*from, *to)) return blame(qp_, *peer_);
  return peer_->responder().finish_directly(as_the_peer_sees(qp_, request));
}

Outcome blame(QueuePair& qp, QueuePair& peer) {
  Outcome outcome{.kind = Outcome::Kind::kLocalError, .status = WcStatus::kFatal};
  if (peer.adapter().memory().failed()) {
    const Outcome theirs = peer.responder().memory_failed();
    if (!qp.adapter().memory().failed()) outcome = theirs;
  }
  return outcome;
}

}  // namespace paravane::verbs
