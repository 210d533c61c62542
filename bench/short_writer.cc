#include "bench/short_writer.h"

#include "bench/question.h"

namespace paravane::bench {

void ShortWriter::step() {
  if (posted_ == 0) watch_ = {};
  pvrdma_cqe completion;
  while (own_.cq->take(completion)) {
    demand(completion.status == PVRDMA_WC_SUCCESS, "a write completed with an error");
    ++completed_;
  }
  while (posted_ < writes_ && posted_ - completed_ + kBatch <= kDepth) post();
  if (completed_ < writes_) return;
  seconds_ = watch_.seconds();
  end();
}

void ShortWriter::post() {
  fake::FakeQp& qp = *own_.qps[0];
  for (std::uint32_t i = 0; i < kBatch; ++i, ++posted_) {
    const pvrdma_sge sge = own_.buffer->sge(0, kBytes);
    const bool queued = qp.queue_send({.wr_id = posted_,
                                       .opcode = PVRDMA_WR_RDMA_WRITE,
                                       .remote_addr = peer_.va(),
                                       .rkey = peer_.rkey,
                                       .sges = {&sge, 1}});
    demand(queued, "the send ring is full");
  }
  qp.ring(fake::kRingSend);
}

}  // namespace paravane::bench
