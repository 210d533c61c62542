// OpenPort: a port that a program has opened, with its MAD line, agents, and MADs on their way.
//
// The descriptor's number is the program's for as long as the port is open. If the daemon is
// restarted, OpenPorts opens the port anew and renew() puts the new socket into the old number's
// place. Each socket of a port has a number, its generation, so that two threads that find the
// same line ended bring it back once.
//
// Any thread. Locks, in this order: sending_ (the parts of a MAD are not mixed with another's, nor
// cut by renew()), state_. Neither is held while a program waits.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "umad/door_protocol.h"
#include "umad_library/mad_line.h"
#include "umad_library/umad_abi.h"
#include "umad_library/unanswered.h"

namespace paravane::umad_library {

class OpenPort {
 public:
  using Generation = std::uint64_t;
  using Agents = std::array<std::optional<umad::AgentWish>, umad::kMostAgents>;

  // What umad_open_port() was asked for, and the line's number at the door.
  struct Place {
    umad::Name adapter{};
    std::uint32_t port = 0;
    std::uint32_t line = 0;
  };

  OpenPort(Place place, UniqueFd socket);

  const Place& place() const { return place_; }
  int fd() const { return fd_; }
  Generation generation();

  // ---- Agents ----
  Agents agents();
  void set_agent(std::uint32_t number, const std::optional<umad::AgentWish>& wish);

  // ---- MADs ----
  // Errors: EINVAL (no such agent, or a length that cannot be), ENOMEM; EPIPE: the line of that
  // generation has ended and the MAD is not sent.
  struct Ended {
    int error = 0;
    Generation generation = 0;  // with EPIPE
  };
  Ended send(const ib_user_mad& header, std::span<const std::byte> mad);
  // The MAD will never be sent. If it has a time limit, it comes back with ETIMEDOUT.
  void lose(const ib_user_mad& header, std::span<const std::byte> mad);

  // Gives a program the next MAD, or its own that was lost. Does not wait.
  struct Received {
    int error = 0;  // 0, EAGAIN (there is none), ENOSPC or EINVAL (`length` is too small: the MAD
                    // stays), EBADF (the port is closed), EPIPE
    std::uint32_t agent = 0;
    std::size_t length = 0;  // of the MAD, also with ENOSPC and EINVAL
    Generation generation = 0;
  };
  Received receive(ib_user_mad& header, std::span<std::byte> room);
  // As receive(), but the MAD stays: 0, EAGAIN, EBADF, EPIPE.
  Ended look();
  // When receive() will have a lost MAD to report; kNever.
  Instant next_due();

  // ---- Only OpenPorts ----
  // A new generation. False: the number is not ours any more, and the port is closed now.
  bool renew(UniqueFd socket);
  // Closes the descriptor too, if it is still ours.
  void close();

 private:
  bool is_open() REQUIRES_LOCK(state_);
  Ended see_line() REQUIRES_LOCK(state_);
  int check(const umad::MadPart& head, std::size_t length) REQUIRES_LOCK(state_);
  Received report_lost(const Unanswered::Report& report, ib_user_mad& header,
                       std::span<std::byte> room) REQUIRES_LOCK(state_);

  const Place place_;
  const int fd_;
  Mutex sending_;
  Mutex state_;
  bool is_closed_ GUARDED_BY(state_) = false;
  ino_t socket_ GUARDED_BY(state_);
  Generation generation_ GUARDED_BY(state_) = 1;
  Agents agents_ GUARDED_BY(state_);
  MadReader reader_ GUARDED_BY(state_);
  Unanswered unanswered_ GUARDED_BY(state_);
};

}  // namespace paravane::umad_library
