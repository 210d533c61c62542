// Numbering assigns packet sequence numbers (PSNs) to the requests of one side of a connection, as
// if they were sent in packets. It also counts the messages that the other side has acknowledged. A
// retried request keeps its numbers.
//
// Numbering counts only the requests that are passed to it. If these include all requests since the
// start of a connection, the numbers begin with the connection's first PSN.
//
// A plain value; one thread.

#pragma once

#include <cstdint>
#include <deque>

#include "verbs/psn.h"

namespace paravane::sniff {

// Converts enum ib_mtu to bytes. An invalid value counts as 1.
std::uint32_t mtu_bytes(std::uint32_t path_mtu);
// The number of packets for a message, or for the response to a READ; at least one. A length above
// the maximum counts as the maximum.
std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu);

class Numbering {
 public:
  Numbering() = default;
  explicit Numbering(std::uint32_t first_psn) : next_(first_psn) {}

  // The number of the request's first packet. `serial` identifies the request; 0: it is a new
  // request without an identity.
  verbs::Psn first_of(std::uint64_t serial, std::uint32_t packets);

  // The message count that the response to this request carries.
  std::uint32_t count_done(std::uint64_t serial);
  std::uint32_t done() const { return done_; }

 private:
  struct Request {
    std::uint64_t serial;
    verbs::Psn first;
  };

  verbs::Psn next_;
  std::uint32_t done_ = 0;
  std::uint64_t last_done_ = 0;  // serial
  std::deque<Request> latest_;   // the newest last: as many as may be under way
};

}  // namespace paravane::sniff
