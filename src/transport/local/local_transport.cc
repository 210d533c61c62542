#include "transport/local/local_transport.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "base/undo.h"
#include "base/wire_int.h"
#include "guestmem/payload.h"
#include "verbs/connection.h"
#include "verbs/fast_path.h"
#include "verbs/request_check.h"

namespace paravane::transport_local {

using verbs::AdapterId;
using verbs::Budget;
using verbs::kNoAnswer;
using verbs::Outcome;
using verbs::Path;
using verbs::QueuePair;
using verbs::SendRequest;

LocalTransport::Member& LocalTransport::member(AdapterId id) {
  const std::size_t index = std::to_underlying(id);
  while (members_.size() <= index) members_.push_back(std::make_unique<Member>());
  return *members_[index];
}

verbs::Adapter* LocalTransport::attached(AdapterId id) const {
  const std::size_t index = std::to_underlying(id);
  return index < members_.size() ? members_[index]->adapter : nullptr;
}

void LocalTransport::attach(verbs::Adapter& adapter) {
  assert(attached(adapter.id()) == nullptr);
  member(adapter.id()).adapter = &adapter;
}

// What its queue pairs have under way ends at the next poll(), unanswered.
void LocalTransport::detach(verbs::Adapter& adapter) {
  member(adapter.id()).adapter = nullptr;
}

// Both ends must name each other, by number and by GID, and the fabric must lead
// from each to the other: no adapter can speak for a GID that is not its own.
QueuePair* LocalTransport::connected_peer(const QueuePair& qp, const Path& path) const {
  verbs::Adapter* adapter = attached(path.peer);
  if (adapter == nullptr || attached(qp.adapter().id()) == nullptr) return nullptr;
  QueuePair* peer = adapter->find_qp(qp.dest_qpn());
  if (peer == nullptr || peer->type() != verbs::QpType::kReliableConnected) return nullptr;
  const verbs::Connection& ours = qp.connection();
  const verbs::Connection& theirs = peer->connection();
  if (peer->dest_qpn() != qp.number() || theirs.gid_type() != ours.gid_type() ||
      theirs.dgid() != ours.sgid() || theirs.sgid() != ours.dgid()) {
    return nullptr;
  }
  const Path* back = peer->path();
  return back != nullptr && back->peer == qp.adapter().id() ? peer : nullptr;
}

std::optional<Outcome> LocalTransport::submit(QueuePair& qp, const Path& path,
                                              const SendRequest& request, Budget& budget) {
  QueuePair* peer = connected_peer(qp, path);
  if (peer == nullptr) return kNoAnswer;
  verbs::DoneMemory& done = peer->responder().done();
  done.meet(qp.life());
  // It was executed, over a path that has lost the answer.
  if (done.has(request.serial)) return answer_again(qp, *peer, request, budget);
  return carry(qp, *peer, request, budget);
}

std::optional<Outcome> LocalTransport::carry(QueuePair& qp, QueuePair& peer,
                                             const SendRequest& request, Budget& budget) {
  Transfer transfer{.request = &request, .length = request.sges.total_bytes()};
  // Our own mistakes first: the peer never hears of a request that has any.
  const Outcome gathered = gather_slice(qp, transfer);
  if (!is_done(gathered)) return gathered;
  auto begun =
      peer.responder().begin(verbs::as_the_peer_sees(qp, request), verbs::Arrives::kAtOnce);
  if (!begun) return begun.error();
  const std::optional<Outcome> outcome = place_slice(qp, *begun, transfer, budget);
  if (!outcome) {
    UnderWay& entry = transfers_[&qp];
    entry.transfer = transfer;
    entry.placement = std::move(*begun);
    member(qp.adapter().id()).under_way.join(qp, entry.place);
  }
  return outcome;
}

std::optional<Outcome> LocalTransport::submit_again(QueuePair& qp, const Path& path,
                                                    const SendRequest& request, Budget& budget) {
  QueuePair* peer = connected_peer(qp, path);
  if (peer == nullptr) return kNoAnswer;
  return answer_again(qp, *peer, request, budget);
}

// The responder knows atomics that it has done; a READ is done again.
std::optional<Outcome> LocalTransport::answer_again(QueuePair& qp, QueuePair& peer,
                                                    const SendRequest& request, Budget& budget) {
  if (verbs::brings_bytes(request.opcode)) return carry(qp, peer, request, budget);
  if (!peer.responder().listens()) return kNoAnswer;
  peer.adapter().counters().duplicates.add();
  return Outcome{};
}

Outcome LocalTransport::gather_slice(QueuePair& qp, const Transfer& transfer) {
  from_.clear();
  to_.clear();
  const verbs::AccessMask need = verbs::local_need(transfer.request->opcode);
  return qp.gather(*transfer.request, transfer.done, transfer.slice(), need,
                   transfer.brings_bytes() ? to_ : from_);
}

std::optional<Outcome> LocalTransport::place_slice(QueuePair& qp, verbs::Placement& placement,
                                                   Transfer& transfer, Budget& budget) {
  const std::uint64_t bytes = transfer.slice();
  if (bytes > 0) {
    budget.bytes -= static_cast<std::int64_t>(bytes);
    if (const Outcome copied = copy_slice(qp, placement, transfer); !is_done(copied)) return copied;
    transfer.done += bytes;
  }
  if (transfer.done < transfer.length) return std::nullopt;
  verbs::Responder& responder = placement.queue_pair().responder();
  const Outcome finished = placement.finish();
  if (is_done(finished)) {
    responder.done().note(transfer.request->serial);
    counters_.messages.add();
    counters_.bytes.add(transfer.length);
  }
  return finished;
}

// Between from_ and to_: gather_slice() has found one of them, the placement finds the other.
Outcome LocalTransport::copy_slice(QueuePair& qp, verbs::Placement& placement,
                                   const Transfer& transfer) {
  if (verbs::is_atomic(transfer.request->opcode)) return change_word(qp, placement);
  const Outcome remote =
      placement.extents(transfer.done, transfer.slice(), transfer.brings_bytes() ? from_ : to_);
  if (!is_done(remote)) return remote;
  return copy_payload(from_, to_) ? Outcome{} : verbs::blame(qp, placement.queue_pair());
}

// The old value goes where a read's bytes would go.
Outcome LocalTransport::change_word(QueuePair& qp, verbs::Placement& placement) {
  std::uint64_t before = 0;
  const Outcome changed = placement.atomic(before);
  if (!is_done(changed)) return changed;
  const Le64 answer(before);
  return scatter_payload(std::as_bytes(std::span(&answer, 1)), to_)
             ? Outcome{}
             : verbs::blame(qp, placement.queue_pair());
}

void LocalTransport::cancel(QueuePair& qp) {
  const auto found = transfers_.find(&qp);
  if (found == transfers_.end()) return;
  member(qp.adapter().id()).under_way.leave(found->second.place);
  transfers_.erase(found);
}

QueuePair* LocalTransport::recipient(const Path& path, std::uint32_t number) const {
  verbs::Adapter* adapter = attached(path.peer);
  return adapter != nullptr ? adapter->find_qp(number) : nullptr;
}

std::optional<Outcome> LocalTransport::send_datagram(QueuePair& qp, const Path& path,
                                                     const verbs::DatagramSource& source,
                                                     const SendRequest& request) {
  from_.clear();
  const Outcome local = qp.gather(request, 0, request.sges.total_bytes(), 0, from_);
  if (!is_done(local)) return local;
  QueuePair* peer = recipient(path, request.remote_qpn);
  if (peer == nullptr) {
    qp.adapter().counters().datagrams_unreachable.add();
    return Outcome{};
  }
  counters_.datagrams.add();
  peer->responder().datagram(source, request, from_);
  return qp.adapter().memory().failed()
             ? Outcome{.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal}
             : Outcome{};
}

void LocalTransport::send_copied_datagram(const Path& path, const verbs::DatagramSource& source,
                                          const SendRequest& request,
                                          std::span<const std::byte> payload) {
  QueuePair* peer = recipient(path, request.remote_qpn);
  if (peer == nullptr) return;
  counters_.datagrams.add();
  peer->responder().datagram(source, request, payload);
}

void LocalTransport::tell_peer_ready(QueuePair& qp) {
  const Path* path = qp.path();
  QueuePair* peer = path != nullptr ? connected_peer(qp, *path) : nullptr;
  if (peer != nullptr) peer->on_peer_ready();
}

void LocalTransport::poll(Instant now, Budget& budget) {
  std::size_t without_work = 0;
  while (!budget.spent() && !transfers_.empty() && without_work < members_.size()) {
    turn_ = (turn_ + 1) % members_.size();
    QueuePair* qp = members_[turn_]->under_way.call();
    if (qp == nullptr) {
      ++without_work;
      continue;
    }
    without_work = 0;
    budget.operations -= 1;
    go_on(*qp, now, budget);
  }
}

void LocalTransport::go_on(QueuePair& qp, Instant now, Budget& budget) {
  auto node = transfers_.extract(&qp);
  UnderWay& entry = node.mapped();
  // Also when memory runs out: no VM has this turn, so the slice is tried again in the next one.
  Undo put_back([&] {
    const auto back = transfers_.insert(std::move(node)).position;
    member(qp.adapter().id()).under_way.join(qp, back->second.place);
  });
  const Path* path = qp.path();
  std::optional<Outcome> outcome = kNoAnswer;
  // The queue pair that the message began with may have gone, or no longer be connected.
  if (entry.placement->is_live() && path != nullptr &&
      connected_peer(qp, *path) == &entry.placement->queue_pair()) {
    outcome = gather_slice(qp, entry.transfer);
    if (is_done(*outcome)) outcome = place_slice(qp, *entry.placement, entry.transfer, budget);
  }
  if (!outcome) return;
  put_back.keep();
  node = {};  // the peer is free for what our queue pair does now
  qp.on_outcome(*outcome, now);
}

}  // namespace paravane::transport_local
