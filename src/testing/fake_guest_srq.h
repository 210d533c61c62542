// FakeSrq: a shared receive queue as driver and provider use it. Queue pairs take
// from it that name it in their QpSpec.
//
// Posting touches guest memory and the doorbell page only and allocates nothing;
// any one thread may do it.

#pragma once

#include <cstdint>
#include <vector>

#include "testing/fake_guest_objects.h"
#include "testing/fake_guest_qp.h"

namespace paravane::fake {

struct SrqSpec {
  FakePd* pd = nullptr;
  std::uint32_t max_wr = 16;  // a power of two, as the provider rounds it
  std::uint32_t max_sge = 1;
  std::uint32_t limit = 0;
  Layout layout = Layout::kContiguous;

  std::uint32_t stride() const;
  // The header page, and twice what the ring needs: the provider is generous.
  std::uint32_t pages() const;
};

class FakeSrq {
 public:
  FakeSrq(GuestRam& ram, const SrqSpec& spec, PageSet pages);
  FakeSrq(const FakeSrq&) = delete;
  FakeSrq& operator=(const FakeSrq&) = delete;

  std::uint32_t handle = 0;

  // Puts a request into the ring. False: the ring is full.
  bool queue_receive(const ReceiveWr& wr);
  // The doorbell.
  void ring();
  bool post_receive(const ReceiveWr& wr);

  const SrqSpec& spec() const { return spec_; }
  PageSet& pages() { return pages_; }
  DriverRing& receive_ring() { return ring_; }
  pvrdma_rq_wqe_hdr& receive_slot(std::uint32_t slot);

 private:
  SrqSpec spec_;
  PageSet pages_;
  std::uint32_t stride_;
  std::vector<std::byte*> page_;  // where each page is
  DriverRing ring_;
};

}  // namespace paravane::fake
