#include "testing/fake_guest_srq.h"

#include <bit>

namespace paravane::fake {

std::uint32_t SrqSpec::stride() const {
  return std::bit_ceil(16 + 16 * max_sge);
}

std::uint32_t SrqSpec::pages() const {
  const std::uint64_t bytes = std::uint64_t{max_wr} * stride();
  return static_cast<std::uint32_t>(1 + 2 * ((bytes + kPage - 1) / kPage));
}

FakeSrq::FakeSrq(GuestRam& ram, const SrqSpec& spec, PageSet pages)
    : spec_(spec), pages_(std::move(pages)), stride_(spec.stride()) {
  for (const std::uint64_t page : pages_.pages) page_.push_back(ram.at(page));
  auto& words = ram.as<RingWords>(pages_.pages.front());
  ring_ = DriverRing(words.rx_prod_tail, words.rx_cons_head, spec.max_wr);
}

pvrdma_rq_wqe_hdr& FakeSrq::receive_slot(std::uint32_t slot) {
  const std::uint64_t byte = std::uint64_t{slot} * stride_;
  return *reinterpret_cast<pvrdma_rq_wqe_hdr*>(page_[1 + byte / kPage] + byte % kPage);
}

bool FakeSrq::queue_receive(const ReceiveWr& wr) {
  std::uint32_t slot = 0;
  if (ring_.has_space(slot) != DriverRing::Look::kYes) return false;
  write_receive(receive_slot(slot), wr);
  ring_.produce();
  return true;
}

void FakeSrq::ring() {
  spec_.pd->context->uar.ring(kDoorbellSrq, handle | kRingSharedReceive);
}

bool FakeSrq::post_receive(const ReceiveWr& wr) {
  const bool queued = queue_receive(wr);
  if (queued) ring();
  return queued;
}

}  // namespace paravane::fake
