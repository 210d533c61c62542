// TrafficParty: an end of a conversation that keeps account of its requests: each that it posts
// completes exactly once, or is owed.
//
// Posting and taking completions take no memory.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "testing/fake_guest_end.h"

namespace paravane::fake {

struct PartyOptions {
  EndOptions end{};
  bool has_srq = false;
  std::uint32_t srq_limit = 0;
  bool arms = true;  // its receive queue, before the traffic
};

class TrafficParty {
 public:
  explicit TrafficParty(FakeGuest& guest, const PartyOptions& options = {});
  TrafficParty(const TrafficParty&) = delete;
  TrafficParty& operator=(const TrafficParty&) = delete;

  FakeEnd& end() { return end_; }
  FakeGuest& guest() { return end_.guest(); }
  FakeMr& buffer() { return end_.buffer(); }
  FakeQp& qp() { return *qp_; }
  FakeSrq* srq() { return srq_; }

  // False: there is no room in the ring.
  bool send(SendWr wr, std::uint64_t offset, std::uint32_t bytes);
  bool send_sges(SendWr wr, std::span<const pvrdma_sge> sges);
  bool receive(std::uint64_t offset, std::uint32_t bytes);
  // Takes what the completion queues hold.
  void drain();

  std::uint32_t posted() const { return posted_; }
  std::uint32_t succeeded() const { return succeeded_; }
  std::uint32_t failed() const { return failed_; }
  std::uint32_t owed() const { return posted_ - succeeded_ - failed_; }
  // Completions of requests that were complete before, or were never posted.
  std::uint32_t repeated() const { return repeated_; }
  // What was posted to the shared receive queue and not taken from it.
  std::uint32_t left_in_srq();

 private:
  bool note(bool is_posted) {
    if (is_posted) ++posted_;
    return is_posted;
  }
  void drain(FakeCq& cq);

  FakeEnd end_;
  FakeSrq* srq_ = nullptr;
  FakeQp* qp_;
  std::uint32_t posted_ = 0;
  std::uint32_t succeeded_ = 0;
  std::uint32_t failed_ = 0;
  std::uint32_t repeated_ = 0;
  std::array<bool, 256> is_complete_{};
};

}  // namespace paravane::fake
