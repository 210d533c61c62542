// Impairment describes the faults to inject on a path. fate_of() decides which of these faults a
// message gets.
//
// The decision for the Nth message of a queue pair depends only on the seed, on N, and on the order
// in which queue pairs began to send. The same work therefore gets the same faults, no matter how
// long each step takes.

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

// The least additional delay of a message that later ones should overtake. The additional delay is
// otherwise equal to the delay of all messages.
inline constexpr Duration kLeastReorder = std::chrono::microseconds(100);

struct Fate {
  bool lost = false;         // on its way to the peer
  bool answer_lost = false;  // on the way back
  bool receiver_not_ready = false;
  bool overtaken = false;
};

// Identifies a message: the number of the queue pair among the senders, and the number of the
// message in that queue pair. Both start at 1.
struct MessageNumber {
  std::uint64_t sender = 1;
  std::uint64_t message = 1;
};

// The fate of a message is independent of all other messages.
Fate fate_of(const Impairment& impairment, const MessageNumber& number);

// How long a message of that fate is held.
Duration hold_of(const Impairment& impairment, const Fate& fate);

}  // namespace paravane::transport_impaired
