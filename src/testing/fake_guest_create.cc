// FakeGuest: making regions and queues.

#include "testing/fake_guest.h"

namespace paravane::fake {

CreateMr FakeGuest::mr_request(const FakePd& pd, std::uint64_t va, std::uint64_t bytes,
                               const PageSet& pages, std::uint32_t access) const {
  CreateMr request{};
  request.start = va;
  request.length = bytes;
  request.pdir_dma = pages.directory;
  request.pd_handle = pd.handle;
  request.access_flags = access;
  request.flags = kMrUser;
  request.nchunks = static_cast<std::uint32_t>(((va & (kPage - 1)) + bytes + kPage - 1) / kPage);
  return request;
}

FakeMr& FakeGuest::register_memory(FakePd& pd, std::uint64_t bytes, const MemoryOptions& options) {
  const std::uint64_t va = next_va_ + options.page_offset;
  const std::uint64_t pages = (options.page_offset + bytes + kPage - 1) / kPage;
  next_va_ += (pages + 16) * kPage;
  auto mr = std::make_unique<FakeMr>(ram(), ram().allocate_set(pages, options.layout), va, bytes);
  const auto outcome = run(mr_request(pd, va, bytes, mr->pages(), options.access));
  demand(outcome.accepted(), "CREATE_MR was refused");
  mr->handle = outcome.response.mr_handle;
  mr->lkey = outcome.response.lkey;
  mr->rkey = outcome.response.rkey;
  demand(mr->lkey >= 0x100 && mr->rkey >= 0x100, "a key has index 0");
  pd_of_[mr.get()] = &pd;
  mrs_.push_back(std::move(mr));
  return *mrs_.back();
}

CreateMrResponse FakeGuest::create_dma_mr(FakePd& pd) {
  CreateMr request{};
  request.pd_handle = pd.handle;
  request.access_flags = kLocalWrite;
  request.flags = kMrDma;
  const auto outcome = run(request);
  demand(outcome.accepted(), "CREATE_MR of a DMA region was refused");
  dma_mrs_.emplace_back(outcome.response.mr_handle, &pd);
  return outcome.response;
}

CreateCq FakeGuest::cq_request(const FakeContext& context, std::uint32_t entries,
                               const PageSet& pages) const {
  CreateCq request{};
  request.pdir_dma = pages.directory;
  request.ctx_handle = context.handle;
  request.cqe = entries;
  request.nchunks = static_cast<std::uint32_t>(pages.pages.size());
  return request;
}

FakeCq& FakeGuest::create_cq(FakeContext& context, std::uint32_t entries, Layout layout) {
  const std::uint64_t pages = 1 + (std::uint64_t{entries} * sizeof(pvrdma_cqe) + kPage - 1) / kPage;
  PageSet set = ram().allocate_set(pages, layout);
  const auto outcome = run(cq_request(context, entries, set));
  demand(outcome.accepted(), "CREATE_CQ was refused");
  demand(outcome.response.cqe == entries, "CREATE_CQ does not echo the number of entries");
  const std::uint32_t handle = outcome.response.cq_handle;
  demand(handle < cq_table_.size(), "a completion queue's handle is beyond the driver's table");
  auto cq = std::make_unique<FakeCq>(ram(), context, std::move(set), entries, qp_table_,
                                     surprise_function());
  cq->handle = handle;
  demand(cq_table_[handle] == nullptr, "two completion queues have one handle");
  cq_table_[handle] = cq.get();
  cqs_.push_back(std::move(cq));
  return *cqs_.back();
}

CreateSrq FakeGuest::srq_request(const SrqSpec& spec, const PageSet& pages) const {
  CreateSrq request{};
  request.pdir_dma = pages.directory;
  request.pd_handle = spec.pd->handle;
  request.nchunks = static_cast<std::uint32_t>(pages.pages.size());
  request.max_wr = spec.max_wr;
  request.max_sge = spec.max_sge;
  request.srq_limit = spec.limit;
  return request;
}

FakeSrq& FakeGuest::create_srq(const SrqSpec& spec) {
  PageSet pages = ram().allocate_set(spec.pages(), spec.layout);
  const auto outcome = run(srq_request(spec, pages));
  demand(outcome.accepted(), "CREATE_SRQ was refused");
  const std::uint32_t handle = outcome.response.handle;
  demand(handle < caps().max_srq, "a shared receive queue's handle is beyond the driver's table");
  for (const auto& other : srqs_) {
    demand(other->handle != handle, "two shared receive queues have one handle");
  }
  auto srq = std::make_unique<FakeSrq>(ram(), spec, std::move(pages));
  srq->handle = handle;
  srqs_.push_back(std::move(srq));
  return *srqs_.back();
}

CreateQp FakeGuest::qp_request(const QpSpec& spec, const PageSet& pages) const {
  CreateQp request{};
  request.pdir_dma = pages.directory;
  request.pd_handle = spec.pd->handle;
  request.send_cq_handle = spec.send_cq->handle;
  request.recv_cq_handle = spec.receive_cq->handle;
  request.max_send_wr = spec.max_send_wr;
  request.max_send_sge = spec.max_send_sge;
  if (spec.srq != nullptr) {
    request.is_srq = 1;
    request.srq_handle = spec.srq->handle;
  } else {
    request.max_recv_wr = spec.max_recv_wr;
    request.max_recv_sge = spec.max_recv_sge;
  }
  request.access_flags = kLocalWrite;
  request.total_chunks = static_cast<std::uint16_t>(pages.pages.size());
  request.send_chunks = static_cast<std::uint16_t>(spec.send_pages());
  request.sq_sig_all = spec.signal_all ? 1 : 0;
  request.qp_type = spec.type;
  return request;
}

FakeQp& FakeGuest::create_qp(const QpSpec& spec) {
  PageSet pages = ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(), spec.layout);
  const auto outcome = run(qp_request(spec, pages));
  demand(outcome.accepted(), "CREATE_QP was refused");
  const std::uint32_t level =
      std::min(machine().read_register(kRegVersion), options().driver_version);
  auto qp = std::make_unique<FakeQp>(ram(), spec, std::move(pages));
  qp->number = outcome.response.words[0];
  qp->handle = level >= 20 ? outcome.response.words[1] : qp->number;
  demand(qp->handle < qp_table_.size(), "a queue pair's handle is beyond the driver's table");
  demand(qp_table_[qp->handle] == nullptr, "two queue pairs have one handle");
  qp_table_[qp->handle] = qp.get();
  qps_.push_back(std::move(qp));
  return *qps_.back();
}

}  // namespace paravane::fake
