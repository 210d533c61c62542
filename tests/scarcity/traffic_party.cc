#include "traffic_party.h"

namespace paravane::fake {

TrafficParty::TrafficParty(FakeGuest& guest, const PartyOptions& options)
    : end_(guest, options.end), qp_(&end_.qp()) {
  if (!options.has_srq) return;
  srq_ = &guest.create_srq({.pd = &end_.pd(), .limit = options.srq_limit});
  QpSpec spec = options.end.queues;
  spec.pd = &end_.pd();
  spec.send_cq = &end_.cq();
  spec.receive_cq = &end_.receive_cq();
  spec.srq = srq_;
  qp_ = &guest.create_qp(spec);
}

bool TrafficParty::send(SendWr wr, std::uint64_t offset, std::uint32_t bytes) {
  const pvrdma_sge sge = buffer().sge(offset, bytes);
  return send_sges(wr, {&sge, 1});
}

bool TrafficParty::send_sges(SendWr wr, std::span<const pvrdma_sge> sges) {
  wr.wr_id = posted_;
  wr.sges = sges;
  return note(qp_->post_send(wr));
}

bool TrafficParty::receive(std::uint64_t offset, std::uint32_t bytes) {
  const pvrdma_sge sge = buffer().sge(offset, bytes);
  const ReceiveWr wr{.wr_id = posted_, .sges = {&sge, 1}};
  return note(srq_ != nullptr ? srq_->post_receive(wr) : qp_->post_receive(wr));
}

void TrafficParty::drain() {
  drain(end_.cq());
  if (&end_.receive_cq() != &end_.cq()) drain(end_.receive_cq());
}

void TrafficParty::drain(FakeCq& cq) {
  pvrdma_cqe cqe{};
  while (cq.poll(cqe)) {
    if (cqe.wr_id >= posted_ || is_complete_[cqe.wr_id]) {
      ++repeated_;
      continue;
    }
    is_complete_[cqe.wr_id] = true;
    ++(cqe.status == 0 ? succeeded_ : failed_);
  }
}

std::uint32_t TrafficParty::left_in_srq() {
  if (srq_ == nullptr) return 0;
  const DriverRing& ring = srq_->receive_ring();
  return (ring.tail() - ring.head()) & (2 * ring.elements() - 1);
}

}  // namespace paravane::fake
