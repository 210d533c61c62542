#include "bench/connection.h"

#include "bench/question.h"

namespace paravane::bench {

void End::await_completion() {
  pvrdma_cqe completion;
  while (!cq->poll(completion)) pause_core();
  demand(completion.status == 0, "a write completed with an error");
}

std::uint32_t End::take_completions(std::uint32_t limit) {
  std::uint32_t taken = 0;
  pvrdma_cqe completion;
  while (taken < limit && (taken == 0 ? cq->poll(completion) : cq->take(completion))) {
    demand(completion.status == 0, "a write completed with an error");
    ++taken;
  }
  return taken;
}

Connection::Connection(Host& host, const ConnectionSpec& spec) {
  for (unsigned i = 0; i < ends_.size(); ++i) {
    fake::FakeGuest& guest = host.guest(i);
    End& end = ends_[i];
    fake::FakeContext& process = guest.open_context();
    end.pd = &guest.create_pd(process);
    end.buffer = &guest.register_memory(*end.pd, spec.buffer_bytes);
    end.cq = &guest.create_cq(process, 2 * spec.send_requests);
    end.qp = &guest.create_qp(
        {.pd = end.pd, .send_cq = end.cq, .receive_cq = end.cq, .max_send_wr = spec.send_requests});
  }
  for (unsigned i = 0; i < ends_.size(); ++i) {
    const bool connected =
        host.guest(i).connect(*ends_[i].qp, host.guest(1 - i).gid(), ends_[1 - i].qp->number);
    demand(connected, "two queue pairs cannot be connected");
  }
}

void Connection::queue_write(unsigned from, std::uint64_t source, std::uint64_t target,
                             std::uint32_t bytes) {
  End& end = ends_[from];
  const fake::FakeMr& peer = *ends_[1 - from].buffer;
  const pvrdma_sge sge = end.buffer->sge(source, bytes);
  const bool queued = end.qp->queue_send({.wr_id = target,
                                          .opcode = PVRDMA_WR_RDMA_WRITE,
                                          .remote_addr = peer.va() + target,
                                          .rkey = peer.rkey,
                                          .sges = {&sge, 1}});
  demand(queued, "the send ring is full");
}

}  // namespace paravane::bench
