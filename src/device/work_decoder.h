// WorkDecoder: converts the bytes of a work queue entry to a trusted value. This is one of the two
// places where untrusted bytes become trusted: the entry has been copied out of guest memory once,
// and every decision uses that copy.
//
// Nothing is refused here: an invalid request becomes a request with a `fault`, so that it is
// completed in order and its slot is returned. Fields that do not belong to the opcode are stale
// in entries from user space and are ignored.

#pragma once

#include <cstdint>
#include <span>

#include "abi/work_queue.h"
#include "verbs/work_request.h"

namespace paravane::device {

// The poster: kernel and user space number opcodes differently from 7 on.
enum class Poster : std::uint8_t { kKernel, kUser };

class WorkDecoder {
 public:
  struct Spec {
    Poster poster = Poster::kUser;
    bool datagrams = false;  // UD and GSI
    bool atomics = true;     // false: there are none
    std::uint32_t protection_domain = 0;
    std::uint32_t max_send_sges = 0;     // <= verbs::kMaxSges
    std::uint32_t max_receive_sges = 0;  // <= verbs::kMaxSges
  };
  explicit WorkDecoder(const Spec& spec) : spec_(spec) {}

  // Everything but the SGEs. Returns how many SGEs to copy in (none for a
  // request with a fault): at most the queue's maximum.
  std::uint32_t decode_send(const abi::SendHeader& header, verbs::SendRequest& out) const;
  std::uint32_t decode_receive(const abi::ReceiveHeader& header, verbs::ReceiveRequest& out) const;

 private:
  void decode_opcode(const abi::SendHeader& header, verbs::SendRequest& out) const;
  static void decode_registration(const abi::SendHeader& header, verbs::SendRequest& out);
  void decode_datagram(const abi::SendHeader& header, verbs::SendRequest& out) const;

  Spec spec_;
};

// REQUIRES: from.size() + list.count <= kMaxSges.
void append_sges(std::span<const abi::Sge> from, verbs::SgeList& list);

}  // namespace paravane::device
