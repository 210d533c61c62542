// WorkDecoder: converts a work queue entry, which is untrusted data from the guest, to a validated
// request. The entry was copied from guest memory once, and all decisions use that copy.
//
// No entry is refused here. An invalid entry becomes a request with a `fault`, so that it is
// completed in order and its slot is returned. In entries from user space, fields that do not
// belong to the opcode can contain stale data. Such fields are ignored.
//
// Stateless. Source: docs/device-spec.md, section 9.

#pragma once

#include <cstdint>
#include <span>

#include "abi/work_queue.h"
#include "verbs/work_request.h"

namespace paravane::device {

// The part of the guest that posted the entry. The kernel and user space number opcodes differently
// from 7 on.
enum class Poster : std::uint8_t { kKernel, kUser };

class WorkDecoder {
 public:
  struct Spec {
    Poster poster = Poster::kUser;
    bool datagrams = false;  // UD and GSI
    bool atomics = true;     // false: atomics are not supported
    std::uint32_t protection_domain = 0;
    std::uint8_t max_send_sges = 0;     // <= verbs::kMaxSges
    std::uint8_t max_receive_sges = 0;  // <= verbs::kMaxSges
  };
  explicit WorkDecoder(const Spec& spec) : spec_(spec) {}

  bool takes_atomics() const { return spec_.atomics; }

  // Decodes everything except the SGEs. Returns the number of SGEs to copy, which is 0 for a
  // request with a fault and never exceeds the maximum of the queue.
  std::uint32_t decode_send(const abi::SendHeader& header, verbs::SendRequest& out) const;
  std::uint32_t decode_receive(const abi::ReceiveHeader& header, verbs::ReceiveRequest& out) const;

 private:
  void decode_opcode(const abi::SendHeader& header, verbs::SendRequest& out) const;
  static void decode_registration(const abi::SendHeader& header, verbs::SendRequest& out);
  void decode_datagram(const abi::SendHeader& header, verbs::SendRequest& out) const;

  Spec spec_;
};

// REQUIRES: list.count < kMaxSges.
inline void append_sge(const abi::Sge& from, verbs::SgeList& list) {
  list.entries[list.count++] = {from.addr.get(), from.length.get(), from.lkey.get()};
}

// REQUIRES: from.size() + list.count <= kMaxSges.
inline void append_sges(std::span<const abi::Sge> from, verbs::SgeList& list) {
  for (const abi::Sge& sge : from) append_sge(sge, list);
}

}  // namespace paravane::device
