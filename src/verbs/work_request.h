// Work requests as trusted values: the code that fills one (the guest device's work decoder) has
// copied it out of guest memory and checked every count. An error in the request is recorded in
// `fault`, and the engine completes the request with it.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "verbs/types.h"

namespace paravane::verbs {

struct SgeList {
  std::uint32_t count = 0;  // <= kMaxSges
  std::array<Sge, kMaxSges> entries;

  std::span<const Sge> all() const { return {entries.data(), count}; }
  std::uint64_t total_bytes() const {
    std::uint64_t total = 0;
    for (const Sge& sge : all()) total += sge.length;
    return total;
  }
};

// A region of kind "fast" gets pages, a place and rights by this (IBTA 10.6.4.3).
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
  // The engine's: unique in its adapter for ever, the same for every retry.
  std::uint64_t serial = 0;
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  WcStatus fault = WcStatus::kSuccess;
  SgeList sges;
};

// Where a queue pair gets its work. The guest's rings stay the only queue: a
// request is taken when the engine is ready to execute it, one at a time.
class WorkSource {
 public:
  enum class Fetch : std::uint8_t {
    // `out` is filled and the entry is passed. When its slot is given back to the guest is for
    // the source to decide: of a send it may be as late as the completion.
    kTaken,
    kEmpty,
    kBroken,  // the ring is dead: fatal for the QP
    kAbsent,  // its memory is unmapped at the moment: try later
  };
  virtual ~WorkSource() = default;
  virtual Fetch take_send(SendRequest& out) = 0;
  virtual Fetch take_receive(ReceiveRequest& out) = 0;
  // True: take_receive() would fill one now. False: it would not; where queue pairs wait in
  // a line for receives that they share, this one stands in it from now on.
  virtual bool wait_for_receive() = 0;
  // Leaving RESET: the guest has zeroed the ring indices.
  virtual void restart() = 0;
};

}  // namespace paravane::verbs
