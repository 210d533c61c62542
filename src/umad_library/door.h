// Door: what a process asks the daemon, over one control line that is made when the first question
// is asked, and again after it has ended.
//
// Each connection has a number, its era. What a control line has opened ends with it, so what was
// opened in one era is unknown to the door in the next.
//
// A person meets an error here (the daemon does not run, the socket is another group's), so it is
// written to stderr, once per process.
//
// Any thread: questions of several threads wait for one another.

#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "base/instant.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "umad/door_protocol.h"
#include "umad_library/control_line.h"
#include "umad_library/notice.h"

namespace paravane::umad_library {

class Door {
 public:
  // How long an answer is waited for: a daemon that starts has its socket before it answers.
  static constexpr Duration kPatience = std::chrono::seconds(10);

  using Era = std::uint64_t;

  // Asks what does not depend on an era: of adapters and ports. If the line has ended since the
  // last question, asks on a new one. Errors: errno; EPROTO (the answer is none),
  // EPROTONOSUPPORT (the daemon speaks another version).
  std::expected<umad::Outcome, int> ask(const umad::Question& question,
                                        std::span<std::byte> answer = {});

  // Connects if there is no line. Errors: errno of connect().
  std::expected<Era, int> era();
  // Asks on the line of that era. Errors: as of ask(); EPIPE: that line has ended.
  std::expected<umad::Outcome, int> ask_in(Era era, const umad::Question& question,
                                           Instant deadline, std::span<std::byte> answer = {},
                                           UniqueFd* mad_line = nullptr);

 private:
  std::expected<Era, int> connect() REQUIRES_LOCK(mutex_);
  std::expected<umad::Outcome, int> ask_now(const umad::Question& question, Instant deadline,
                                            std::span<std::byte> answer, UniqueFd* mad_line)
      REQUIRES_LOCK(mutex_);
  void drop_what_is_not_ours() REQUIRES_LOCK(mutex_);

  Mutex mutex_;
  std::optional<ControlLine> line_ GUARDED_BY(mutex_);
  Era era_ GUARDED_BY(mutex_) = 0;
  WarnedOnce no_connection_;
  WarnedOnce no_answer_;
};

}  // namespace paravane::umad_library
