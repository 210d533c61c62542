// ControlLine: a connection to the daemon's umad door, on which questions are asked one at a time
// (umad/door_protocol.h).
//
// The daemon is not trusted: an answer of another form is an error, whatever it holds. After an
// error the line is of no use any more.
//
// One thread at a time.

#pragma once

#include <sys/types.h>

#include <expected>
#include <span>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/unique_fd.h"
#include "umad/door_protocol.h"

namespace paravane::umad_library {

// PARAVANE_UMAD_DOOR, or the usual place. A program with more rights than its user (setuid) does
// not let the user choose what it talks to.
std::string door_path();

class ControlLine {
 public:
  // Errors: errno of socket() or connect().
  static std::expected<ControlLine, int> connect(const std::string& path);

  // What follows a kDone goes into `answer`, which has the length that it must have; the descriptor
  // of kOpen into `mad_line`. Errors: EPIPE (the line has ended), ETIMEDOUT (no answer until the
  // deadline), EPROTO (that is no answer).
  std::expected<umad::Outcome, int> ask(const umad::Question& question, std::span<std::byte> answer,
                                        UniqueFd* mad_line, Instant deadline);

  // False: the program has forked since, or has closed descriptors that are not its own.
  bool is_ours() const;

 private:
  ControlLine(UniqueFd socket, ino_t inode, pid_t process)
      : socket_(std::move(socket)), inode_(inode), process_(process) {}
  int say(const umad::Question& question) const;
  int wait_for_answer(Instant deadline) const;

  UniqueFd socket_;
  ino_t inode_;
  pid_t process_;
};

}  // namespace paravane::umad_library
