#include "testing/fake_guest_cq.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kPerPage = kPage / sizeof(pvrdma_cqe);

}  // namespace

FakeCq::FakeCq(GuestRam& ram, FakeContext& context, PageSet pages, std::uint32_t entries,
               const QpTable& qps, const SurpriseFunction& surprise)
    : context_(&context), pages_(std::move(pages)), qps_(&qps), surprise_(&surprise) {
  for (std::size_t i = 1; i < pages_.pages.size(); ++i)
    elements_.push_back(ram.at(pages_.pages[i]));
  auto& words = ram.as<RingWords>(pages_.pages.front());
  ring_ = DriverRing(words.rx_prod_tail, words.rx_cons_head, entries);
}

pvrdma_cqe& FakeCq::element(std::uint32_t slot) {
  return reinterpret_cast<pvrdma_cqe*>(elements_[slot / kPerPage])[slot % kPerPage];
}

bool FakeCq::take(pvrdma_cqe& out) {
  std::uint32_t slot = 0;
  const DriverRing::Look look = ring_.has_data(slot);
  if (look == DriverRing::Look::kInvalid) (*surprise_)("a completion ring index is invalid");
  if (look != DriverRing::Look::kYes) return false;
  const pvrdma_cqe& entry = element(slot);
  const std::uint64_t qp = entry.qp & 0xFFFF;
  if (qp >= qps_->size() || (*qps_)[qp] == nullptr) {
    // The driver would stop here for ever.
    (*surprise_)("a completion names a queue pair that does not exist");
    return false;
  }
  out = entry;
  ring_.consume();
  return true;
}

bool FakeCq::poll(pvrdma_cqe& out) {
  if (take(out)) return true;
  context_->uar.ring(kDoorbellCq, handle | kRingPoll);
  return take(out);
}

void FakeCq::arm(bool solicited_only) {
  context_->uar.ring(kDoorbellCq, handle | (solicited_only ? kRingArmSolicited : kRingArm));
}

std::uint32_t FakeCq::unconsumed() const {
  return (ring_.tail() - ring_.head()) & (2 * ring_.elements() - 1);
}

void FakeCq::drop_completions_of(std::uint32_t qp_handle) {
  const std::uint32_t mask = ring_.elements() - 1;
  const std::uint32_t count = unconsumed();
  const std::uint32_t last = ring_.tail() - 1;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const pvrdma_cqe entry = element((last - i) & mask);
    if ((entry.qp & 0xFFFF) == qp_handle) continue;
    element((last - kept) & mask) = entry;
    ++kept;
  }
  for (std::uint32_t i = kept; i < count; ++i) ring_.consume();
}

}  // namespace paravane::fake
