// Responder: messages whose memory is lent to an RDMA adapter before their turn.

#include <memory>
#include <vector>

#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"
#include "verbs/responder.h"
#include "verbs/sge_walk.h"

namespace paravane::verbs {
namespace {

// Receives of a queue pair.
constexpr std::size_t kMostTaken = 4;

}  // namespace

const ReceiveRequest* Responder::receive_ahead(std::uint32_t index) {
  if (qp_.impl_->spec.shared_receives) return nullptr;  // others may need them sooner
  const bool is_free = receive_ != nullptr && !(busy() && consumes_receive(placed().opcode));
  if (is_free && index == 0) return receive_.get();
  const std::size_t place = is_free ? index - 1 : index;
  std::vector<std::unique_ptr<ReceiveRequest>>& taken = rare().taken;
  while (taken.size() <= place) {
    if (ring_dead_ || taken.size() >= kMostTaken) return nullptr;
    taken.reserve(kMostTaken);
    std::unique_ptr<ReceiveRequest>& room = qp_.adapter_.spare_receive_;
    if (room == nullptr) room = std::make_unique<ReceiveRequest>();
    if (qp_.impl_->spec.work->take_receive(*room) != WorkSource::Fetch::kTaken) return nullptr;
    taken.push_back(std::move(room));
  }
  return taken[place].get();
}

bool Responder::extents_ahead(const RemoteRequest& request, std::uint32_t receives, Stretch stretch,
                              ExtentList& out) {
  const WrOpcode opcode = request.opcode;
  const AccessMask need = remote_need(opcode);
  const bool is_plain = !brings_bytes(opcode) && opcode != WrOpcode::kSendWithInvalidate;
  if (!listens() || !is_plain || request.length > kMaxMessageBytes ||
      (need & ~qp_.impl_->attributes.access) != 0) {
    return false;
  }
  const ReceiveRequest* receive = nullptr;
  if (consumes_receive(opcode)) {
    receive = receive_ahead(receives);
    if (receive == nullptr || receive->fault != WcStatus::kSuccess) return false;
  }
  MemoryRegionTable& regions = qp_.impl_->adapter.regions();
  const bool is_first = stretch.offset == 0;
  if (is_send(opcode)) {
    const SgeList& sges = receive->sges;
    if (request.length > sges.total_bytes()) return false;
    const bool is_good = !is_first || check_sges(regions, receive_pd(), sges, request.length,
                                                 kAccessLocalWrite) == AccessVerdict::kOk;
    return is_good && resolve_sges(regions, receive_pd(), sges, stretch, kAccessLocalWrite, out) ==
                          AccessVerdict::kOk;
  }
  const PdNumber pd = qp_.spec().pd;
  const bool is_good = !is_first || regions.check(pd, request.rkey, request.remote_addr,
                                                  request.length, need) == AccessVerdict::kOk;
  return is_good && regions.resolve(pd, request.rkey, request.remote_addr + stretch.offset,
                                    stretch.length, need, out) == AccessVerdict::kOk;
}

}  // namespace paravane::verbs
