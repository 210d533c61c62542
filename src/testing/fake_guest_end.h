// FakeEnd: one end of a conversation, ready made: a process (or the guest's
// kernel) with a protection domain, queues, a buffer and one queue pair.
//
//   FakeEnd a(rig.guest(0)), b(rig.guest(1));
//   connect(a, b);
//   b.receive(1);
//   a.send(2, 0, 100);
//
// In the kernel the buffer is reached through a DMA region, as the driver's
// customers do it, so peers cannot name it.

#pragma once

#include <cstdint>
#include <memory>

#include "testing/fake_guest.h"

namespace paravane::fake {

struct EndOptions {
  bool kernel = false;
  FakeContext* context = nullptr;  // an open process to join; null: a new one
  std::uint32_t cq_entries = 64;
  bool separate_receive_cq = false;
  std::uint64_t buffer_bytes = 16384;
  MemoryOptions memory{};
  QpSpec queues{};  // PD and CQs are filled in
};

class FakeEnd {
 public:
  explicit FakeEnd(FakeGuest& guest, const EndOptions& options = {});
  FakeEnd(const FakeEnd&) = delete;
  FakeEnd& operator=(const FakeEnd&) = delete;

  FakeGuest& guest() { return guest_; }
  FakeContext& context() { return context_; }
  FakePd& pd() { return pd_; }
  FakeCq& cq() { return cq_; }
  FakeCq& receive_cq() { return *receive_cq_; }
  FakeMr& buffer() { return *buffer_; }
  FakeQp& qp() { return *qp_; }

  // `bytes` of the buffer from `offset`, in one SGE; 0 bytes: no SGE.
  bool receive(std::uint64_t wr_id, std::uint64_t offset = 0, std::uint32_t bytes = 4096);
  bool send(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes,
            std::uint32_t flags = kSendSignaled);
  bool write(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes, FakeMr& target,
             std::uint64_t target_offset = 0);
  bool read(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t bytes, FakeMr& source,
            std::uint64_t source_offset = 0);
  // Anything else: `wr` with this SGE.
  bool post(SendWr wr, std::uint64_t offset, std::uint32_t bytes);

  // Replaces the queue pair by a new one (the old one is destroyed).
  void renew_qp();

 private:
  FakeGuest& guest_;
  EndOptions options_;
  FakeContext& context_;
  FakePd& pd_;
  FakeCq& cq_;
  FakeCq* receive_cq_;
  FakeMr* buffer_ = nullptr;
  std::unique_ptr<FakeMr> kernel_buffer_;
  FakeQp* qp_ = nullptr;
};

// Both to RTS, with each other's first GID and number.
bool connect(FakeEnd& a, FakeEnd& b, const RcOptions& options = {});

// A source of completions that needs no peer: a queue pair in ERR, whose receives
// come back flushed. Its completions go to `cq`.
class FlushSource {
 public:
  FlushSource(FakeGuest& guest, FakePd& pd, FakeCq& cq, std::uint32_t depth = 16);
  // Posts `count` empty receives with consecutive wr_ids.
  bool produce(std::uint32_t count = 1);
  std::uint64_t produced() const { return next_wr_id_ - 1; }
  FakeQp& qp() { return qp_; }

 private:
  FakeQp& qp_;
  std::uint64_t next_wr_id_ = 1;
};

}  // namespace paravane::fake
