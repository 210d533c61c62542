#include "testing/fake_guest_end.h"

namespace paravane::fake {
namespace {

FakeContext& context_for(FakeGuest& guest, const EndOptions& options) {
  if (options.kernel) return guest.kernel();
  return options.context != nullptr ? *options.context : guest.open_context();
}

}  // namespace

FakeEnd::FakeEnd(FakeGuest& guest, const EndOptions& options)
    : guest_(guest),
      options_(options),
      context_(context_for(guest, options)),
      pd_(guest.create_pd(context_)),
      cq_(guest.create_cq(context_, options.cq_entries)),
      receive_cq_(options.separate_receive_cq ? &guest.create_cq(context_, options.cq_entries)
                                              : &cq_) {
  if (options.kernel) {
    const CreateMrResponse dma = guest.create_dma_mr(pd_);
    PageSet pages = guest.ram().allocate_set((options.buffer_bytes + kPage - 1) / kPage,
                                             Layout::kContiguous, false);
    const std::uint64_t first = pages.pages.front();
    kernel_buffer_ =
        std::make_unique<FakeMr>(guest.ram(), std::move(pages), first, options.buffer_bytes);
    kernel_buffer_->lkey = dma.lkey;
    kernel_buffer_->rkey = dma.rkey;
    buffer_ = kernel_buffer_.get();
  } else {
    buffer_ = &guest.register_memory(pd_, options.buffer_bytes, options.memory);
  }
  options_.queues.pd = &pd_;
  options_.queues.send_cq = &cq_;
  options_.queues.receive_cq = receive_cq_;
  qp_ = &guest.create_qp(options_.queues);
}

void FakeEnd::renew_qp() {
  guest_.destroy(*qp_);
  qp_ = &guest_.create_qp(options_.queues);
}

bool FakeEnd::receive(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes) {
  const pvrdma_sge sge = buffer_->sge(offset, bytes);
  return qp_->post_receive({.wr_id = wr_id, .sges = {&sge, bytes == 0 ? 0u : 1u}});
}

bool FakeEnd::post(SendWr wr, std::uint64_t offset, std::uint32_t bytes) {
  const pvrdma_sge sge = buffer_->sge(offset, bytes);
  wr.sges = {&sge, bytes == 0 ? 0u : 1u};
  return qp_->post_send(wr);
}

bool FakeEnd::send(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes,
                   std::uint32_t flags) {
  return post({.wr_id = wr_id, .opcode = PVRDMA_WR_SEND, .flags = flags, .sges = {}}, offset,
              bytes);
}

bool FakeEnd::write(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes, FakeMr& target,
                    std::uint64_t target_offset) {
  return post({.wr_id = wr_id,
               .opcode = PVRDMA_WR_RDMA_WRITE,
               .remote_addr = target.va() + target_offset,
               .rkey = target.rkey,
               .sges = {}},
              offset, bytes);
}

bool FakeEnd::read(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes, FakeMr& source,
                   std::uint64_t source_offset) {
  return post({.wr_id = wr_id,
               .opcode = PVRDMA_WR_RDMA_READ,
               .remote_addr = source.va() + source_offset,
               .rkey = source.rkey,
               .sges = {}},
              offset, bytes);
}

bool connect(FakeEnd& a, FakeEnd& b, const RcOptions& options) {
  return a.guest().connect(a.qp(), b.guest().gid(options.sgid_index), b.qp().number, options) &&
         b.guest().connect(b.qp(), a.guest().gid(options.sgid_index), a.qp().number, options);
}

FlushSource::FlushSource(FakeGuest& guest, FakePd& pd, FakeCq& cq, std::uint32_t depth)
    : qp_(guest.create_qp(
          {.pd = &pd, .send_cq = &cq, .receive_cq = &cq, .max_send_wr = 1, .max_recv_wr = depth})) {
  if (!guest.to_init(qp_) || !guest.to_state(qp_, kStateErr)) {
    guest.surprise("a queue pair does not go to ERR");
  }
}

bool FlushSource::produce(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!qp_.queue_receive({.wr_id = next_wr_id_, .sges = {}})) return false;
    ++next_wr_id_;
  }
  qp_.ring(kRingReceive);
  return true;
}

}  // namespace paravane::fake
