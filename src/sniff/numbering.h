// Numbering: the packet sequence numbers that the requests of one end of a connection would have,
// and how many messages the other end has acknowledged. A retried request keeps its numbers.
//
// It counts the requests that it is shown: from a connection's first PSN on, if it sees all of it.
//
// Plain value; one thread.

#pragma once

#include <cstdint>
#include <deque>

#include "verbs/psn.h"

namespace paravane::sniff {

// Bytes in a packet, of enum ib_mtu. One that is none: as 1.
std::uint32_t mtu_bytes(std::uint32_t path_mtu);
// How many packets a message takes, or the answer to a READ; an empty one takes one. Of
// what is longer than a message may be: as many as the longest takes.
std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu);

class Numbering {
 public:
  Numbering() = default;
  explicit Numbering(std::uint32_t first_psn) : next_(first_psn) {}

  // Of the request's first packet. `serial` names the request; 0: none does, and it is new.
  verbs::Psn first_of(std::uint64_t serial, std::uint32_t packets);

  // The count that an answer carries, after the request is done (or only looked at).
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
