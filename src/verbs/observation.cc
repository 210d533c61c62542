// What requesters and responders tell an adapter's observer. Called by Adapter::observe() alone.

#include <algorithm>
#include <bit>

#include "base/wire_int.h"
#include "guestmem/payload.h"
#include "verbs/observer.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"
#include "verbs/sge_walk.h"

namespace paravane::verbs {
namespace {

// `find` appends the extents of a stretch of the message; false: they are not there.
template <typename Find>
ReadBytes read_by(Find find) {
  return [find, extents = ExtentList()](std::uint64_t offset, std::span<std::byte> out) mutable {
    extents.clear();
    return find(offset, out.size(), extents) && gather_payload(extents, out);
  };
}

ReadBytes read_own(QueuePair& qp, const SendRequest& request) {
  return read_by([&](std::uint64_t offset, std::uint64_t length, ExtentList& out) {
    return qp.gather(request, offset, length, local_need(request.opcode), out).kind ==
           Outcome::Kind::kDone;
  });
}

// One that our own memory is not good for never leaves.
bool can_leave(QueuePair& qp, const SendRequest& request) {
  ExtentList whole;
  const std::uint64_t judged = std::min(request.sges.total_bytes(), kSliceBytes);
  return qp.gather(request, 0, judged, local_need(request.opcode), whole).kind ==
         Outcome::Kind::kDone;
}

}  // namespace

void Requester::tell_try(Observer& observer) {
  const SendRequest& request = in_hand();
  if (!can_leave(qp_, request)) return;
  observer.on_request(qp_, Direction::kOut, as_the_peer_sees(qp_, request),
                      brings_bytes(request.opcode) ? ReadBytes() : read_own(qp_, request));
}

void Requester::tell_answer(Observer& observer, const Outcome& outcome) {
  if (qp_.type() != QpType::kReliableConnected) return;
  const SendRequest& request = window_.oldest();
  observer.on_answer(qp_, Direction::kIn, as_the_peer_sees(qp_, request), outcome,
                     brings_bytes(request.opcode) ? read_own(qp_, request) : ReadBytes());
}

void Requester::tell_datagram(Observer& observer, const DatagramSource& source) {
  const SendRequest& request = in_hand();
  if (!can_leave(qp_, request)) return;
  observer.on_datagram(qp_, Direction::kOut, source, request, request.sges.total_bytes(),
                       read_own(qp_, request));
}

void Responder::tell_refusal(Observer& observer, const RemoteRequest& request,
                             const Outcome& outcome) {
  if (qp_.type() != QpType::kReliableConnected) return;
  observer.on_request(qp_, Direction::kIn, request, {});
  observer.on_answer(qp_, Direction::kOut, request, outcome, {});
}

// All of it is in place, and the program has not heard of it yet.
void Responder::tell_placed(Observer& observer) {
  const ReadBytes bytes = read_by([this](std::uint64_t offset, std::uint64_t length,
                                         ExtentList& out) {
    return find_bytes(placed(), {.offset = offset, .length = length}, out) == AccessVerdict::kOk;
  });
  observer.on_request(qp_, Direction::kIn, placed(),
                      brings_bytes(placed().opcode) ? ReadBytes() : bytes);
}

void Responder::tell_answer(Observer& observer, const Outcome& outcome) {
  ReadBytes bytes;
  if (placed().opcode == WrOpcode::kRdmaRead) {
    bytes = read_by([this](std::uint64_t offset, std::uint64_t length, ExtentList& out) {
      return find_bytes(placed(), {.offset = offset, .length = length}, out) == AccessVerdict::kOk;
    });
  } else if (is_atomic(placed().opcode)) {
    bytes = [this](std::uint64_t /*offset*/, std::span<std::byte> out) {
      const DoneMemory::Atomic* known = rare_->done.find_atomic(placed().serial);
      if (known == nullptr || out.size() != kAtomicBytes) return false;
      const Le64 before(known->before);
      std::ranges::copy(std::as_bytes(std::span(&before, 1)), out.begin());
      return true;
    };
  }
  observer.on_answer(qp_, Direction::kOut, placed(), outcome, bytes);
}

void Responder::tell_datagram(Observer& observer, const DatagramSource& source,
                              const SendRequest& request, std::uint64_t bytes,
                              const ReceiveRequest& receive) {
  const ReadBytes placed =
      read_by([this, &receive](std::uint64_t offset, std::uint64_t length, ExtentList& out) {
        return resolve_sges(qp_.adapter_.regions(), receive_pd(), receive.sges,
                            {.offset = kGrhBytes + offset, .length = length}, kAccessLocalWrite,
                            out) == AccessVerdict::kOk;
      });
  observer.on_datagram(qp_, Direction::kIn, source, request, bytes, placed);
}

void Responder::tell_dropped(Observer& observer, const DatagramSource& source,
                             const SendRequest& request, std::uint64_t bytes) {
  if (qp_.type() == QpType::kReliableConnected) return;
  observer.on_datagram(qp_, Direction::kIn, source, request, bytes, {});
}

}  // namespace paravane::verbs
