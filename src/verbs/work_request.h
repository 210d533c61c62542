// Defines work requests as values that the engine can trust, and the interface from which a queue
// pair takes them. The guest device's work decoder copies a request out of guest memory and checks
// every count. It records an invalid request in `fault`, and the engine completes the request with
// that error.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "verbs/types.h"

namespace paravane::verbs {

struct SgeList {
  std::uint32_t count = 0;  // <= kMaxSges
  std::array<Sge, kMaxSges> entries;

  SgeList() = default;
  // Only what is used is copied: most requests have one entry, and room for 32 is 512 bytes.
  SgeList(const SgeList& other) { *this = other; }
  SgeList& operator=(const SgeList& other) {
    count = other.count;
    std::ranges::copy(other.all(), entries.begin());
    return *this;
  }

  std::span<const Sge> all() const { return {entries.data(), count}; }
  std::uint64_t total_bytes() const {
    if (count == 1) [[likely]]
      return entries[0].length;
    std::uint64_t total = 0;
    for (const Sge& sge : all()) total += sge.length;
    return total;
  }
};

// A request that gives a fast region its pages, address and rights (IBTA 10.6.4.3).
struct FastRegistration {
  std::uint32_t key = 0;  // bits 31:8 name the region; all of it is the key from then on
  AccessMask access = 0;
  std::uint64_t start = 0;      // address of the first byte in the region's own space
  std::uint32_t length = 0;     // bytes
  std::uint32_t pages = 0;      // in the list
  std::uint64_t directory = 0;  // guest address of the list's page directory
};

struct SendRequest {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  WcStatus fault = WcStatus::kSuccess;  // not kSuccess: malformed, complete it so
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  Immediate imm{};
  std::uint64_t remote_addr = 0;  // RDMA and atomics
  std::uint32_t rkey = 0;         // RDMA and atomics; or the key to invalidate
  std::uint64_t compare_add = 0;  // atomics: what is compared with, or added
  std::uint64_t swap = 0;         // compare-and-swap
  std::uint32_t remote_qpn = 0;   // datagrams; 24 bits
  std::uint32_t remote_qkey = 0;  // datagrams; bit 31 set: the QP's own
  AddressVector av;               // datagrams
  FastRegistration registration;
  SgeList sges;
  // Assigned by the engine: the same for every retry, and never used again in the adapter.
  std::uint64_t serial = 0;
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  WcStatus fault = WcStatus::kSuccess;
  SgeList sges;
};

// The interface from which a queue pair takes its requests. The guest's rings are the only queue: a
// request is taken when the engine is ready to execute it, one at a time.
class WorkSource {
 public:
  enum class Fetch : std::uint8_t {
    // `out` is filled. If the request was taken, the ring's next entry is the following one, and
    // the
    // source decides when the guest may reuse the slot; for a send, this may be as late as the
    // completion.
    kTaken,
    kEmpty,
    kBroken,  // the ring is dead: fatal for the QP
    kAbsent,  // its memory is unmapped at the moment: try later
  };
  virtual ~WorkSource() = default;
  // Reads the next send request without taking it. The guest can change the entry meanwhile, so a
  // request that is read again is checked again.
  virtual Fetch peek_send(SendRequest& out) = 0;
  // Takes the request that peek_send() has read. REQUIRES: peek_send() has just returned kTaken.
  virtual void pass_send() = 0;
  Fetch take_send(SendRequest& out) {
    const Fetch fetched = peek_send(out);
    if (fetched == Fetch::kTaken) pass_send();
    return fetched;
  }
  virtual Fetch take_receive(ReceiveRequest& out) = 0;
  // The same, but the slot may be returned to the guest as late as the completions of receives
  // become visible. REQUIRES: the receive completion queue's reveal() follows in the same turn.
  virtual Fetch take_receive_in_passing(ReceiveRequest& out) { return take_receive(out); }
  // True: take_receive() would return a receive now. False: it would not; if receives are shared,
  // the queue pair waits in line for one from now on.
  virtual bool wait_for_receive() = 0;
  // The queue pair leaves RESET, and the guest has zeroed the ring indices.
  virtual void restart() = 0;
};

}  // namespace paravane::verbs
