// EngineVm: memory and an adapter as one VM would have them, without a device:
// the test is the program that posts, and the guest that owns the memory.
//
// EngineQp: one queue pair of it with its work source and completion queues.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/timers.h"
#include "guestmem/guest_memory.h"
#include "testing/recording_cq.h"
#include "testing/scripted_work.h"
#include "testing/test_memory.h"
#include "testing/verbs_requests.h"
#include "verbs/adapter.h"

namespace paravane::fake {

inline constexpr verbs::AccessMask kEveryRight = verbs::kAccessKnown;

// Registered memory. Its address space is the program's, not the guest's.
struct EngineBuffer {
  TestPages pages;
  std::uint64_t start = 0;  // the first byte, as the program names it
  std::uint64_t length = 0;
  std::uint32_t key = 0;

  verbs::Sge sge(std::uint64_t offset, std::uint64_t bytes) const {
    return {.addr = start + offset, .length = static_cast<std::uint32_t>(bytes), .lkey = key};
  }
  verbs::Sge whole() const { return sge(0, length); }
};

struct EngineQp {
  // Its receives are `shared`'s; nullptr: its own.
  explicit EngineQp(ScriptedWork* shared = nullptr) : work(shared) {}
  ScriptedWork work;
  RecordingCq sends;
  RecordingCq receives;
  std::unique_ptr<verbs::QueuePair> qp;
  verbs::QueuePairSpec spec;  // of one that end_engine() has ended

  void post(const verbs::SendRequest& request) {
    work.post_send(request);
    qp->kick();
  }
  void post(const verbs::ReceiveRequest& request) {
    work.post_receive(request);
    qp->kick();
  }
  verbs::QpState state() const { return qp->state(); }
};

class EngineVm {
 public:
  // GIDs 0 and 1 are `gid` as RoCE v2 and v1. Everything handed in outlives it.
  EngineVm(verbs::AdapterId id, TimerQueue& timers, verbs::FabricPort& port, const verbs::Gid& gid,
           std::uint64_t ram_bytes = 64 << 20, const verbs::AdapterLimits& limits = {});

  verbs::Adapter& adapter() { return *adapter_; }
  GuestMemory& memory() { return memory_; }
  TestMemory& ram() { return ram_; }
  RecordingEvents& events() { return events_; }
  verbs::PdNumber pd() const { return pd_; }
  const verbs::Gid& gid() const { return gid_; }
  const verbs::AdapterCounters& counters() { return adapter_->counters(); }

  // `offset` is that of the first byte in its page; pages are scattered in the
  // guest's memory unless `contiguous`.
  EngineBuffer buffer(std::uint64_t length, verbs::AccessMask access = kEveryRight,
                      std::uint64_t offset = 0, bool contiguous = false);
  // One that shows the same `window` bytes again and again: long messages, little memory.
  // REQUIRES: both are whole pages.
  EngineBuffer repeated_buffer(std::uint64_t length, std::uint64_t window);
  void write(const EngineBuffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  std::vector<std::byte> read(const EngineBuffer& buffer, std::uint64_t offset,
                              std::uint64_t length) const;
  // Bytes that depend on their place and on `seed`.
  void fill(const EngineBuffer& buffer, std::uint8_t seed);
  static std::vector<std::byte> pattern(std::uint64_t length, std::uint8_t seed);

  std::unique_ptr<EngineQp> queue_pair(verbs::QpType type = verbs::QpType::kReliableConnected,
                                       bool signal_all = false, std::uint32_t number = 0);
  // ---- As a daemon that is replaced ----
  // The state of the adapter and of these queue pairs.
  std::vector<std::byte> save(std::span<EngineQp* const> qps) const;
  // All of them end, and so does the adapter, which is made anew, with nothing in it.
  void end_engine(std::span<EngineQp* const> qps);
  // Into the new adapter. Errors: the state is refused, or a queue pair cannot be created.
  Status load(std::span<const std::byte> state, std::span<EngineQp* const> qps);

  // One whose receives come from `shared`, a work source that others use too.
  std::unique_ptr<EngineQp> sharing_queue_pair(
      ScriptedWork& shared, verbs::QpType type = verbs::QpType::kReliableConnected);

 private:
  EngineBuffer registered(TestPages pages, std::uint64_t length, verbs::AccessMask access,
                          std::uint64_t offset);

  std::unique_ptr<verbs::Adapter> make_adapter();

  const verbs::AdapterId id_;
  const verbs::AdapterLimits limits_;
  TimerQueue& timers_;
  verbs::FabricPort& port_;
  TestMemory ram_;
  GuestMemory memory_;
  RecordingEvents events_;
  verbs::Gid gid_;
  std::unique_ptr<verbs::Adapter> adapter_;
  verbs::PdNumber pd_{};
  std::uint32_t next_tag_ = 100;
  std::uint64_t next_start_ = 0x7F00'0000'0000;
};

}  // namespace paravane::fake
