#include "umad_library/door.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::umad_library {
namespace {

std::string remedy_of(int error) {
  if (error == EACCES || error == EPERM) {
    return "Run this as root, or as a user in the group of the socket";
  }
  // Without an adapter the daemon has no socket.
  if (error == ENOENT) {
    return "Start paravaned and add an InfiniBand adapter (paravane infiniband adapter add), or "
           "set PARAVANE_UMAD_DOOR to the path of its socket";
  }
  return "Start paravaned, or set PARAVANE_UMAD_DOOR to the path of its socket";
}

}  // namespace

std::expected<Door::Era, int> Door::connect() {
  const std::string path = door_path();
  auto line = ControlLine::connect(path);
  if (!line) {
    no_connection_.warn("connect_door", "cannot connect to " + path + ": " +
                                            std::strerror(line.error()) + ". " +
                                            remedy_of(line.error()));
    return std::unexpected(line.error());
  }
  line_.emplace(*std::move(line));
  return ++era_;
}

// After a fork it is the parent's: two that ask on one line read each other's answers.
void Door::drop_what_is_not_ours() {
  if (line_ && !line_->is_ours()) line_.reset();
}

std::expected<Door::Era, int> Door::era() {
  const MutexLock lock(mutex_);
  drop_what_is_not_ours();
  return line_ ? std::expected<Era, int>(era_) : connect();
}

std::expected<umad::Outcome, int> Door::ask_now(const umad::Question& question, Instant deadline,
                                                std::span<std::byte> answer, UniqueFd* mad_line) {
  auto outcome = line_->ask(question, answer, mad_line, deadline);
  if (outcome && *outcome == umad::Outcome::kVersion) outcome = std::unexpected(EPROTONOSUPPORT);
  if (outcome) return outcome;
  line_.reset();
  if (outcome.error() == EPROTO || outcome.error() == EPROTONOSUPPORT) {
    no_answer_.warn("ask_door", "cannot understand the answer of " + door_path() +
                                    ". Install this library and paravaned from one release");
  }
  return outcome;
}

std::expected<umad::Outcome, int> Door::ask(const umad::Question& question,
                                            std::span<std::byte> answer) {
  const MutexLock lock(mutex_);
  const Instant deadline = std::chrono::steady_clock::now() + kPatience;
  drop_what_is_not_ours();
  if (line_) {
    auto outcome = ask_now(question, deadline, answer, nullptr);
    if (outcome || outcome.error() != EPIPE) return outcome;
  }
  if (auto era = connect(); !era) return std::unexpected(era.error());
  return ask_now(question, deadline, answer, nullptr);
}

std::expected<umad::Outcome, int> Door::ask_in(Era era, const umad::Question& question,
                                               Instant deadline, std::span<std::byte> answer,
                                               UniqueFd* mad_line) {
  const MutexLock lock(mutex_);
  drop_what_is_not_ours();
  if (!line_ || era != era_) return std::unexpected(EPIPE);
  return ask_now(question, deadline, answer, mad_line);
}

}  // namespace paravane::umad_library
