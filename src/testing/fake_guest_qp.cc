#include "testing/fake_guest_qp.h"

#include <bit>
#include <cstring>

namespace paravane::fake {
namespace {

constexpr std::uint32_t kSendHeader = sizeof(pvrdma_sq_wqe_hdr);
constexpr std::uint32_t kReceiveHeader = sizeof(pvrdma_rq_wqe_hdr);
static_assert(kSendHeader == 80 && kReceiveHeader == 16 && sizeof(pvrdma_sge) == 16);

std::uint32_t pages_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + kPage - 1) / kPage);
}

void write_sges(std::byte* at, std::span<const pvrdma_sge> sges) {
  if (!sges.empty()) std::memcpy(at, sges.data(), sges.size_bytes());
}

bool is_rdma(std::uint32_t opcode) {
  return opcode == PVRDMA_WR_RDMA_WRITE || opcode == PVRDMA_WR_RDMA_WRITE_WITH_IMM ||
         opcode == PVRDMA_WR_RDMA_READ;
}

}  // namespace

std::uint32_t QpSpec::send_stride() const {
  return std::bit_ceil(kSendHeader + 16 * max_send_sge);
}
std::uint32_t QpSpec::receive_stride() const {
  return std::bit_ceil(kReceiveHeader + 16 * max_recv_sge);
}
std::uint32_t QpSpec::send_pages() const {
  return pages_for(std::uint64_t{max_send_wr} * send_stride());
}
std::uint32_t QpSpec::receive_pages() const {
  return srq != nullptr ? 0 : pages_for(std::uint64_t{max_recv_wr} * receive_stride());
}

FakeQp::FakeQp(GuestRam& ram, const QpSpec& spec, PageSet pages)
    : spec_(spec),
      pages_(std::move(pages)),
      send_stride_(spec.send_stride()),
      receive_stride_(spec.receive_stride()),
      receive_page_(1 + spec.send_pages()) {
  for (const std::uint64_t page : pages_.pages) page_.push_back(ram.at(page));
  auto& words = ram.as<RingWords>(pages_.pages.front());
  send_ring_ = DriverRing(words.tx_prod_tail, words.tx_cons_head, spec.max_send_wr);
  receive_ring_ = DriverRing(words.rx_prod_tail, words.rx_cons_head, spec.max_recv_wr);
}

std::byte* FakeQp::element(std::uint32_t first_page, std::uint32_t slot, std::uint32_t stride) {
  const std::uint64_t byte = std::uint64_t{slot} * stride;
  return page_[first_page + byte / kPage] + byte % kPage;
}

pvrdma_sq_wqe_hdr& FakeQp::send_slot(std::uint32_t slot) {
  return *reinterpret_cast<pvrdma_sq_wqe_hdr*>(element(1, slot, send_stride_));
}

pvrdma_rq_wqe_hdr& FakeQp::receive_slot(std::uint32_t slot) {
  return *reinterpret_cast<pvrdma_rq_wqe_hdr*>(element(receive_page_, slot, receive_stride_));
}

// The kernel zeroes the header first; the provider leaves what was there.
void FakeQp::write_send(std::byte* at, const SendWr& wr) {
  auto& wqe = *reinterpret_cast<pvrdma_sq_wqe_hdr*>(at);
  if (spec_.pd->context->is_kernel()) std::memset(&wqe, 0, sizeof wqe);
  wqe.wr_id = wr.wr_id;
  wqe.num_sge = static_cast<std::uint32_t>(wr.sges.size());
  wqe.opcode = wr.opcode;
  wqe.send_flags = wr.flags;
  if (wr.opcode == PVRDMA_WR_SEND_WITH_IMM || wr.opcode == PVRDMA_WR_RDMA_WRITE_WITH_IMM) {
    wqe.ex.imm_data = wr.imm;
  }
  if (is_rdma(wr.opcode)) {
    wqe.wr.rdma.remote_addr = wr.remote_addr;
    wqe.wr.rdma.rkey = wr.rkey;
  }
  if (wr.opcode == PVRDMA_WR_ATOMIC_CMP_AND_SWP || wr.opcode == PVRDMA_WR_ATOMIC_FETCH_AND_ADD) {
    wqe.wr.atomic.remote_addr = wr.remote_addr;
    wqe.wr.atomic.compare_add = wr.compare_add;
    if (wr.opcode == PVRDMA_WR_ATOMIC_CMP_AND_SWP) wqe.wr.atomic.swap = wr.swap;
    wqe.wr.atomic.rkey = wr.rkey;
  }
  if (wr.opcode == PVRDMA_WR_SEND_WITH_INV || wr.opcode == PVRDMA_WR_LOCAL_INV) {
    wqe.ex.invalidate_rkey = wr.rkey;
  }
  if (wr.registration != nullptr) {
    wqe.wr.fast_reg.iova_start = wr.registration->start;
    wqe.wr.fast_reg.pl_pdir_dma = wr.registration->directory;
    wqe.wr.fast_reg.page_shift = wr.registration->page_shift;
    wqe.wr.fast_reg.page_list_len = wr.registration->pages;
    wqe.wr.fast_reg.length = wr.registration->length;
    wqe.wr.fast_reg.access_flags = wr.registration->access;
    wqe.wr.fast_reg.rkey = wr.registration->key;
  }
  if (wr.av != nullptr) {
    wqe.wr.ud.remote_qpn = wr.remote_qpn;
    wqe.wr.ud.remote_qkey = wr.remote_qkey;
    wqe.wr.ud.av = *wr.av;
  }
  write_sges(at + kSendHeader, wr.sges);
}

bool FakeQp::queue_send(const SendWr& wr) {
  std::uint32_t slot = 0;
  if (send_ring_.has_space(slot) != DriverRing::Look::kYes) return false;
  write_send(element(1, slot, send_stride_), wr);
  send_ring_.produce();
  return true;
}

void write_receive(pvrdma_rq_wqe_hdr& slot, const ReceiveWr& wr) {
  slot.wr_id = wr.wr_id;
  slot.num_sge = static_cast<std::uint32_t>(wr.sges.size());
  write_sges(reinterpret_cast<std::byte*>(&slot) + kReceiveHeader, wr.sges);
}

bool FakeQp::queue_receive(const ReceiveWr& wr) {
  std::uint32_t slot = 0;
  if (spec_.srq != nullptr) return false;
  if (receive_ring_.has_space(slot) != DriverRing::Look::kYes) return false;
  write_receive(receive_slot(slot), wr);
  receive_ring_.produce();
  return true;
}

void FakeQp::ring(std::uint32_t bits) {
  spec_.pd->context->uar.ring(kDoorbellQp, handle | bits);
}

bool FakeQp::post_send(const SendWr& wr) {
  const bool queued = queue_send(wr);
  if (queued) ring(kRingSend);
  return queued;
}

bool FakeQp::post_receive(const ReceiveWr& wr) {
  const bool queued = queue_receive(wr);
  if (queued) ring(kRingReceive);
  return queued;
}

void FakeQp::forget_ring_contents() {
  spec_.send_cq->drop_completions_of(handle);
  if (spec_.receive_cq != spec_.send_cq) spec_.receive_cq->drop_completions_of(handle);
  send_ring_.set_tail(0);
  send_ring_.set_head(0);
  receive_ring_.set_tail(0);
  receive_ring_.set_head(0);
}

}  // namespace paravane::fake
