// Unanswered: the MADs of a program that wait for their answers, kept for the case that the daemon
// ends.
//
// A program counts on what the kernel promises: a MAD sent with a time limit comes back, as its
// answer or with ETIMEDOUT. OpenSM waits for all that it has sent before it goes on. While the
// daemon lives it keeps that promise; what it still had to answer when it ended is reported from
// here, each MAD when its time is over.
//
// One thread at a time.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/instant.h"
#include "umad/door_protocol.h"

namespace paravane::umad_library {

class Unanswered {
 public:
  static constexpr std::size_t kBytes = 24;  // of a MAD, as the kernel reports it
  // Later the daemon has forgotten it, or has had RMPP's time for a long answer.
  static constexpr Duration kKeptAfterwards = std::chrono::minutes(5);

  struct Report {
    umad::MadPart head;
    std::array<std::byte, kBytes> mad{};
  };

  // REQUIRES of each `mad`: kBytes. Throws std::bad_alloc.
  void add(const umad::MadPart& head, std::span<const std::byte> mad, Instant now);
  // It was not sent.
  void take_back(std::uint32_t agent, std::span<const std::byte> mad);
  // This came from the daemon.
  void see(const umad::MadPart& head, std::span<const std::byte> mad);
  void forget_agent(std::uint32_t agent);
  // The daemon has ended: it answers none of these any more.
  void lose_all();
  // Nor this one, which was added last.
  void lose(std::uint32_t agent, std::span<const std::byte> mad);

  // When the first of the lost ones is to be reported; kNever.
  Instant next_due() const;
  const Report* due(Instant now) const;
  // REQUIRES: due().
  void reported();

  std::size_t size() const { return waiting_.size() + lost_.size(); }

 private:
  // An agent, and the half of a transaction id that is the program's: the kernel and the daemon
  // use the other.
  using Key = std::pair<std::uint32_t, std::array<std::byte, 4>>;
  struct Entry {
    Report report;
    Instant due;
  };
  static Key key_of(std::uint32_t agent, std::span<const std::byte> mad);
  void drop_the_old(Instant now);

  std::map<Key, Entry> waiting_;
  std::multimap<Instant, Report> lost_;
  std::size_t dropped_at_ = kFewest;

  static constexpr std::size_t kFewest = 4096;
};

}  // namespace paravane::umad_library
