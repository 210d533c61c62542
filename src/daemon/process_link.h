// ProcessLink: one end of the line between paravaned's two processes: the keeper,
// which has rights, and the engine, which talks to guests. A note is one packet;
// whoever reads it takes the other side for hostile.
//
// One thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::daemon {

struct Note {
  enum class Kind : std::uint8_t {
    kNone = 0,      // what arrived was no note
    kReady = 1,     // engine: serves; with its status
    kStatus = 2,    // engine: in a few words
    kStopping = 3,  // engine: no text
    kLogLevel = 4,  // keeper: log from this level on
  };
  static constexpr std::size_t kMaxText = 255;  // bytes; what is longer is cut

  Kind kind{};
  std::string text;  // printable ASCII; anything else arrives as '?'
};

class ProcessLink {
 public:
  // Both ends. Errors: kIo.
  static Result<std::pair<ProcessLink, ProcessLink>> make();

  // Lost when the other side is gone or reads nothing.
  void send(const Note& note) const;
  // The next one; nullopt: nothing there. Errors: kIo (the other side is gone).
  Result<std::optional<Note>> receive() const;

  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  explicit ProcessLink(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace paravane::daemon
