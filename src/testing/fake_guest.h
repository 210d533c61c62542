// FakeGuest: a whole guest that plays the PVRDMA driver and provider natively,
// through the device's real interface, with no VM. Tests, benchmarks and fuzzers
// use the same one.
//
//   FakeGuest& guest = rig.guest(0);      // booted
//   FakeContext& process = guest.open_context();
//   FakePd& pd = guest.create_pd(process);
//   FakeMr& buffer = guest.register_memory(pd, 4096);
//   FakeCq& cq = guest.create_cq(process, 64);
//   FakeQp& qp = guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq});
//   guest.connect(qp, peer_gid, peer_qp_number);
//   const pvrdma_sge sge = buffer.sge();
//   qp.post_send({.wr_id = 1, .sges = {&sge, 1}});
//   cq.poll(completion);
//
// The builders call surprise() when the device refuses. A test that wants to be
// refused bends a request (cq_request() and so on) and runs it.
//
// Owner thread only, except what FakeQp and FakeCq allow.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "testing/fake_guest_cq.h"
#include "testing/fake_guest_driver.h"
#include "testing/fake_guest_objects.h"
#include "testing/fake_guest_qp.h"
#include "testing/fake_guest_srq.h"

namespace paravane::fake {

using GidBytes = std::array<std::uint8_t, 16>;
GidBytes gid_of_mac(const std::array<std::uint8_t, 6>& mac);  // fe80::, EUI-64
GidBytes gid_of_ipv4(std::array<std::uint8_t, 4> address);    // ::ffff:a.b.c.d

struct MemoryOptions {
  std::uint32_t access = kAllAccess;
  std::uint32_t page_offset = 0;  // of the first byte within its page
  Layout layout = Layout::kContiguous;
};

// What connect() tells the two moves of a connected QP.
struct RcOptions {
  std::uint32_t access = kAllAccess;
  std::uint32_t path_mtu = 5;
  std::uint32_t psn = 0x123456;
  std::uint8_t reads = 16;
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t sgid_index = 0;
  std::array<std::uint8_t, 6> dmac{};  // the peer's, as the guest's kernel finds it out
};

class FakeGuest final : public FakeDriver {
 public:
  FakeGuest(GuestMachine& machine, GuestOptions options);
  ~FakeGuest() override;

  // ---- Life ----
  // Probe and registration: port, P_Key, the GIDs of `mac` (index 0) and of
  // 10.0.0.host (index 1).
  bool boot(const std::array<std::uint8_t, 6>& mac, std::uint8_t host);
  // modprobe -r: everything destroyed in the driver's order, then RESET.
  void unload();
  // The guest is gone without a word (machine reset, kexec): its memory is free
  // for others.
  void forget_everything();

  // ---- Objects ----
  FakeContext& kernel() { return *kernel_; }
  FakeContext& open_context();
  FakePd& create_pd(FakeContext& context);
  FakeMr& register_memory(FakePd& pd, std::uint64_t bytes, const MemoryOptions& options = {});
  CreateMrResponse create_dma_mr(FakePd& pd);
  FakeCq& create_cq(FakeContext& context, std::uint32_t entries,
                    Layout layout = Layout::kContiguous);
  FakeSrq& create_srq(const SrqSpec& spec);
  FakeQp& create_qp(const QpSpec& spec);
  void destroy(FakeQp& qp);
  void destroy(FakeSrq& srq);
  void destroy(FakeCq& cq);
  void destroy(FakeMr& mr);
  void destroy(FakePd& pd);
  void close(FakeContext& context);
  // The kernel cleans up after a process that died: all its objects, then its
  // context.
  void kill_process(FakeContext& context);

  // The requests behind the builders, for tests that bend them.
  CreateCq cq_request(const FakeContext& context, std::uint32_t entries,
                      const PageSet& pages) const;
  CreateSrq srq_request(const SrqSpec& spec, const PageSet& pages) const;
  CreateQp qp_request(const QpSpec& spec, const PageSet& pages) const;
  CreateMr mr_request(const FakePd& pd, std::uint64_t va, std::uint64_t bytes, const PageSet& pages,
                      std::uint32_t access = kAllAccess) const;
  CreateUc context_request(std::uint32_t page) const;
  std::uint32_t next_uar_page() const;

  // ---- Shared receive queues ----
  bool set_limit(FakeSrq& srq, std::uint32_t limit);
  std::uint32_t limit_of(FakeSrq& srq);

  // ---- Connections ----
  bool modify(FakeQp& qp, const QpAttributes& attributes, std::uint32_t mask);
  static QpAttributes garbage_attributes();
  bool to_init(FakeQp& qp, std::uint32_t access = kAllAccess, std::uint32_t qkey = 0);
  bool to_rtr(FakeQp& qp, const GidBytes& dgid, std::uint32_t dest_qpn, const RcOptions& options);
  bool to_rts(FakeQp& qp, const RcOptions& options = {});
  bool to_state(FakeQp& qp, std::uint32_t state);  // with no attributes: ERR, SQD
  bool to_reset(FakeQp& qp);                       // and forgets its completions
  bool connect(FakeQp& qp, const GidBytes& dgid, std::uint32_t dest_qpn,
               const RcOptions& options = {});
  bool start_datagrams(FakeQp& qp, std::uint32_t qkey);
  QpAttributes query(FakeQp& qp);
  pvrdma_av address_vector(const FakePd& pd, const GidBytes& dgid,
                           std::uint8_t gid_index = 0) const;

  // ---- GIDs ----
  bool bind_gid(std::uint32_t index, const GidBytes& gid);
  bool unbind_gid(std::uint32_t index);
  const GidBytes& gid(std::uint32_t index = 0) const { return gids_.at(index); }

  // ---- What has arrived ----
  std::vector<AsyncEvent>& async_events() { return async_events_; }
  std::vector<std::uint32_t>& notifications() { return notifications_; }

 private:
  void on_notification(std::uint32_t cq_handle) override;
  void on_async_event(const AsyncEvent& event) override;
  bool register_port();
  void demand(bool condition, const char* what) {
    if (!condition) surprise(what);
  }

  std::unique_ptr<FakeContext> kernel_;
  std::map<std::uint32_t, std::unique_ptr<FakeContext>> contexts_;  // by doorbell page
  std::vector<std::unique_ptr<FakePd>> pds_;
  std::vector<std::unique_ptr<FakeMr>> mrs_;
  std::map<const FakeMr*, const FakePd*> pd_of_;
  std::vector<std::unique_ptr<FakeCq>> cqs_;
  std::vector<std::unique_ptr<FakeSrq>> srqs_;
  std::vector<std::unique_ptr<FakeQp>> qps_;
  std::vector<std::pair<std::uint32_t, const FakePd*>> dma_mrs_;
  QpTable qp_table_;
  std::vector<FakeCq*> cq_table_;
  std::map<std::uint32_t, GidBytes> gids_;
  std::vector<AsyncEvent> async_events_;
  std::vector<std::uint32_t> notifications_;
  std::uint64_t next_va_ = 0x7f00'0000'0000;
};

}  // namespace paravane::fake
