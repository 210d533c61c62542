#include "verbs/fast_path.h"

#include <span>

#include "base/wire_int.h"
#include "guestmem/atomic_word.h"
#include "guestmem/payload.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"

namespace paravane::verbs {
namespace {

// A message of more bytes shows the completion of its receive at once, and is not copied while
// earlier ones are hidden.
constexpr std::uint64_t kShortBytes = 4096;

}  // namespace

FastPath::FastPath(QueuePair& qp) : qp_(qp) {
  if (qp.type() != QpType::kReliableConnected || qp.adapter().observer() != nullptr) return;
  const Path* path = qp.path();
  if (path == nullptr) return;
  QueuePair* peer = path->transport->direct_peer(qp, *path);
  if (peer == nullptr || peer == &qp || peer->adapter().observer() != nullptr) return;
  if (!peer->responder().takes_directly()) return;
  peer_ = peer;
  transport_ = path->transport;
  may_fetch_ = qp.impl_->attributes.max_reads != 0;
  rights_ = peer->responder().direct_rights();
}

FastPath::~FastPath() {
  if (messages_ > 0) transport_->count_direct(messages_, bytes_);
  if (writes_ > 0) peer_->responder().count(WrOpcode::kRdmaWrite, write_bytes_, writes_);
}

std::optional<Outcome> FastPath::carry(const SendRequest& request) {
  if (request.fault != WcStatus::kSuccess || request.sges.count != 1) return std::nullopt;
  const std::uint64_t length = request.sges.entries[0].length;
  if (length == 0 || length > kSliceBytes) return std::nullopt;
  // What a program finds in its memory must not overtake the completions before it.
  if (!is_send(request.opcode) || length > kShortBytes) hidden_.show();
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

inline std::optional<Extent> FastPath::local(const SendRequest& request, std::uint64_t length,
                                             AccessMask need) {
  const Sge& sge = request.sges.entries[0];
  return ours_.find_extent(qp_.adapter().regions(), qp_.impl_->spec.pd, sge.lkey, sge.addr, length,
                           need);
}

inline std::optional<Extent> FastPath::remote(const SendRequest& request, std::uint64_t length,
                                              AccessMask need) {
  if ((need & ~rights_) != 0) return std::nullopt;
  return theirs_.find_extent(peer_->adapter().regions(), peer_->impl_->spec.pd, request.rkey,
                             request.remote_addr, length, need);
}

std::optional<Outcome> FastPath::copy(const SendRequest& request, std::uint64_t length) {
  const bool reads = request.opcode == WrOpcode::kRdmaRead;
  if (reads && !may_fetch_) return std::nullopt;
  const auto ours = local(request, length, reads ? AccessMask{kAccessLocalWrite} : 0);
  if (!ours) return std::nullopt;
  const auto theirs = remote(request, length, reads ? kAccessRemoteRead : kAccessRemoteWrite);
  if (!theirs) return std::nullopt;
  if (!copy_payload(reads ? *theirs : *ours, reads ? *ours : *theirs)) return blame(qp_, *peer_);
  if (reads) {
    peer_->responder().count(WrOpcode::kRdmaRead, length);
  } else {
    ++writes_;
    write_bytes_ += length;
  }
  return Outcome{};
}

// Once the word is changed, the transport must not change it again.
std::optional<Outcome> FastPath::change_word(const SendRequest& request, std::uint64_t length) {
  if (length != kAtomicBytes || request.remote_addr % kAtomicBytes != 0) return std::nullopt;
  if (!may_fetch_) return std::nullopt;
  const auto ours = local(request, length, kAccessLocalWrite);
  if (!ours) return std::nullopt;
  const auto word = remote(request, length, kAccessRemoteAtomic);
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
  const auto from = local(request, length, 0);
  if (!from) return std::nullopt;
  hidden_.begin(*peer_->impl_->spec.receive_cq);
  const auto to = peer_->responder().receive_directly(length, receives_);
  if (!to) return std::nullopt;
  if (!copy_payload(*from, *to)) return blame(qp_, *peer_);
  return peer_->responder().deliver(as_the_peer_sees(qp_, request),
                                    length <= kShortBytes ? Reveal::kSoon : Reveal::kNow);
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
