#include "daemon/process_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace paravane::daemon {
namespace {

using Packet = std::array<char, 1 + Note::kMaxText>;

Note read_note(const char* bytes, std::size_t size) {
  const auto kind = static_cast<Note::Kind>(bytes[0]);
  if (kind > Note::Kind::kLogLevel) return {};
  Note note{.kind = kind, .text = std::string(bytes + 1, size - 1)};
  // The service manager reads lines, the log too.
  std::ranges::replace_if(note.text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return note;
}

}  // namespace

Result<std::pair<ProcessLink, ProcessLink>> ProcessLink::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(Errc::kIo, std::string("cannot make a socket pair: ") + std::strerror(errno));
  }
  return std::pair(ProcessLink(UniqueFd(ends[0])), ProcessLink(UniqueFd(ends[1])));
}

void ProcessLink::send(const Note& note) const {
  Packet packet{static_cast<char>(note.kind)};
  const std::size_t length = note.text.copy(packet.data() + 1, Note::kMaxText);
  static_cast<void>(::send(socket_.get(), packet.data(), 1 + length, MSG_NOSIGNAL));
}

Result<std::optional<Note>> ProcessLink::receive() const {
  Packet packet;
  const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) return fail(Errc::kIo, "the other process is gone");
  return read_note(packet.data(), static_cast<std::size_t>(size));
}

}  // namespace paravane::daemon
