// The program's end of a MAD line (umad/door_protocol.h): cuts MADs into parts and joins parts.
//
// The last part of a MAD leaves the socket when the MAD is taken, not before. So a MAD for which a
// program's buffer is too small waits there, and the descriptor can be polled for it.
//
// The daemon is not trusted: parts that break a rule are found here.
//
// One thread at a time.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "umad/door_protocol.h"

namespace paravane::umad_library {

// Waits, if the daemon is slow to read, but not for long. The head's total, offset are set here.
// Gives 0, or EPIPE: the line has ended, or is ended now since a part of the MAD is missing.
int send_mad(int fd, umad::MadPart head, std::span<const std::byte> mad);

class MadReader {
 public:
  enum class Sight {
    kNothing,  // no MAD has arrived whole
    kMad,
    kEnded,   // by the daemon
    kBroken,  // what came is no part of a MAD
  };
  // Does not wait. Takes all parts of a MAD but the last. Throws std::bad_alloc, with nothing lost.
  Sight look(int fd);

  // ---- Of the MAD that look() has seen ----
  const umad::MadPart& head() const { return head_; }
  std::size_t total() const { return head_.total.get(); }
  // Its first bytes, as many as `into` takes; the MAD stays. False: it is gone.
  bool copy_beginning(int fd, std::span<std::byte> into) const;
  // REQUIRES: room for all of it. False: it is gone.
  bool take(int fd, std::span<std::byte> into);

  // Forgets the parts of an unfinished MAD: its line has ended.
  void forget() { joined_.clear(); }

 private:
  bool is_next_part(const umad::MadPart& part, std::size_t bytes) const;

  umad::MadPart head_;
  std::vector<std::byte> joined_;  // all parts but the last
};

}  // namespace paravane::umad_library
