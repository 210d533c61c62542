// FakeQp: a queue pair as driver and provider post to it.
//
// Posting touches guest memory and the doorbell page only and allocates nothing;
// for a user context any one thread may do it.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "testing/fake_guest_cq.h"
#include "testing/fake_guest_objects.h"

namespace paravane::fake {

class FakeSrq;

struct QpSpec {
  FakePd* pd = nullptr;
  FakeCq* send_cq = nullptr;
  FakeCq* receive_cq = nullptr;
  std::uint8_t type = kTypeRc;
  std::uint32_t max_send_wr = 16;  // powers of two, as driver and provider round them
  std::uint32_t max_recv_wr = 16;
  std::uint32_t max_send_sge = 1;
  std::uint32_t max_recv_sge = 1;
  bool signal_all = false;
  Layout layout = Layout::kContiguous;
  FakeSrq* srq = nullptr;  // then there is no receive ring

  std::uint32_t send_stride() const;
  std::uint32_t receive_stride() const;
  std::uint32_t send_pages() const;
  std::uint32_t receive_pages() const;
};

// The page list and the place of a fast registration.
struct RegisterWr {
  std::uint64_t start = 0;
  std::uint64_t directory = 0;
  std::uint32_t page_shift = 12;
  std::uint32_t pages = 0;
  std::uint32_t length = 0;
  std::uint32_t access = 0;
  std::uint32_t key = 0;
};

struct SendWr {
  std::uint64_t wr_id = 0;
  std::uint32_t opcode = PVRDMA_WR_SEND;
  std::uint32_t flags = kSendSignaled;
  std::uint32_t imm = 0;  // raw, as it shall arrive
  std::uint64_t remote_addr = 0;
  std::uint32_t rkey = 0;         // also: the key to invalidate
  std::uint64_t compare_add = 0;  // atomics
  std::uint64_t swap = 0;
  const RegisterWr* registration = nullptr;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_qkey = 0;
  const pvrdma_av* av = nullptr;  // datagrams
  std::span<const pvrdma_sge> sges{};
};

struct ReceiveWr {
  std::uint64_t wr_id = 0;
  std::span<const pvrdma_sge> sges{};
};

// As driver and provider write it into a slot.
void write_receive(pvrdma_rq_wqe_hdr& slot, const ReceiveWr& wr);

class FakeQp {
 public:
  FakeQp(GuestRam& ram, const QpSpec& spec, PageSet pages);
  FakeQp(const FakeQp&) = delete;
  FakeQp& operator=(const FakeQp&) = delete;

  std::uint32_t number = 0;
  std::uint32_t handle = 0;
  std::uint32_t state = kStateReset;  // as the driver believes

  // Puts a request into the ring. False: the ring is full, or (receives) shared.
  bool queue_send(const SendWr& wr);
  bool queue_receive(const ReceiveWr& wr);
  // The doorbell; `bits` of kRingSend and kRingReceive.
  void ring(std::uint32_t bits);
  bool post_send(const SendWr& wr);
  bool post_receive(const ReceiveWr& wr);

  // What the driver does after a move to RESET was answered: it drops the
  // completions and zeroes all four words.
  void forget_ring_contents();

  const QpSpec& spec() const { return spec_; }
  PageSet& pages() { return pages_; }
  DriverRing& send_ring() { return send_ring_; }
  DriverRing& receive_ring() { return receive_ring_; }
  // The raw slots.
  pvrdma_sq_wqe_hdr& send_slot(std::uint32_t slot);
  pvrdma_rq_wqe_hdr& receive_slot(std::uint32_t slot);

 private:
  void write_send(std::byte* at, const SendWr& wr);
  std::byte* element(std::uint32_t first_page, std::uint32_t slot, std::uint32_t stride);

  QpSpec spec_;
  PageSet pages_;
  std::uint32_t send_stride_;
  std::uint32_t receive_stride_;
  std::uint32_t receive_page_;
  std::vector<std::byte*> page_;  // where each page is
  DriverRing send_ring_;
  DriverRing receive_ring_;
};

}  // namespace paravane::fake
