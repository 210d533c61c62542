// FakeCq: a completion queue as driver and provider use it.
//
// poll(), take() and arm() touch guest memory and the doorbell page only; for a
// user context any one thread may call them (kernel queues ring by message and
// belong to the owner's thread).

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "testing/fake_guest_objects.h"

namespace paravane::fake {

class FakeQp;
using QpTable = std::vector<FakeQp*>;                       // by handle, as the driver's
using SurpriseFunction = std::function<void(const char*)>;  // the device did what it must not

class FakeCq {
 public:
  FakeCq(GuestRam& ram, FakeContext& context, PageSet pages, std::uint32_t entries,
         const QpTable& qps, const SurpriseFunction& surprise);
  FakeCq(const FakeCq&) = delete;
  FakeCq& operator=(const FakeCq&) = delete;

  std::uint32_t handle = 0;

  // As the driver polls: looks, rings POLL when empty, looks once more.
  bool poll(pvrdma_cqe& out);
  // Looks once and rings nothing.
  bool take(pvrdma_cqe& out);
  void arm(bool solicited_only = false);

  // Completions the guest has not consumed.
  std::uint32_t unconsumed() const;
  // Events delivered for this queue.
  std::uint64_t events() const { return events_; }
  void on_event() { ++events_; }

  // What the driver does with a queue pair's completions when it goes: the
  // others move towards the tail, the consumer index passes the gap.
  void drop_completions_of(std::uint32_t qp_handle);

  DriverRing& ring() { return ring_; }
  FakeContext& context() { return *context_; }
  std::uint32_t entries() const { return ring_.elements(); }
  PageSet& pages() { return pages_; }
  pvrdma_cqe& element(std::uint32_t slot);

 private:
  FakeContext* context_;
  PageSet pages_;
  std::vector<std::byte*> elements_;  // per page
  DriverRing ring_;
  const QpTable* qps_;
  const SurpriseFunction* surprise_;
  std::uint64_t events_ = 0;
};

}  // namespace paravane::fake
