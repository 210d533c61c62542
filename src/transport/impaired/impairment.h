// Impairment: the faults to inject on a path, and the messages to inject them into.
//
// Whether the Nth message of a queue pair is affected depends only on the seed, the queue pair's
// position among the senders, and N: the same work meets the same faults, however long each step
// takes.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/instant.h"

namespace paravane::transport_impaired {

inline constexpr std::uint32_t kPartsPerMillion = 1'000'000;

// Shares of messages, in parts per million.
struct Impairment {
  std::uint32_t loss = 0;  // of requests and datagrams, and of answers to requests
  std::uint32_t reorder = 0;
  std::uint32_t rnr = 0;  // of those that take a receive of the peer's
  Duration delay{};
  std::uint64_t seed = 0;
};

// How much later than others a message comes that is to be overtaken: as much again as
// all are delayed, and at least this.
inline constexpr Duration kLeastReorder = std::chrono::microseconds(100);

struct Fate {
  bool lost = false;         // on its way to the peer
  bool answer_lost = false;  // on the way back
  bool receiver_not_ready = false;
  bool overtaken = false;
};

// Which message: of the Nth queue pair that sent, and of that one the Nth; both from 1 on.
struct MessageNumber {
  std::uint64_t sender = 1;
  std::uint64_t message = 1;
};

// Independent of all other numbers.
Fate fate_of(const Impairment& impairment, const MessageNumber& number);

// How long a message of that fate is held.
Duration hold_of(const Impairment& impairment, const Fate& fate);

}  // namespace paravane::transport_impaired
