#include "privsep/process_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace paravane::privsep {
namespace {

constexpr std::size_t kMaxPacket = 1 + Note::kMaxLongText;

// Room for one descriptor.
struct Ancillary {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

std::size_t max_text(Note::Kind kind) {
  const bool is_long = kind == Note::Kind::kSwitchPlan || kind == Note::Kind::kSwitchReport ||
                       kind == Note::Kind::kMachineReport || kind == Note::Kind::kSwitchNews;
  return is_long ? Note::kMaxLongText : Note::kMaxText;
}

Note read_note(std::string_view packet) {
  const auto kind = static_cast<Note::Kind>(packet[0]);
  if (kind > Note::Kind::kUplinkTap) return {};
  Note note{.kind = kind, .text = std::string(packet.substr(1, max_text(kind)))};
  // The service manager reads lines, the log too.
  std::ranges::replace_if(note.text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return note;
}

}  // namespace

bool is_line(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

Result<std::pair<ProcessLink, ProcessLink>> ProcessLink::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_by_system(Errc::kIo, "cannot create a socket pair", errno);
  }
  return std::pair(ProcessLink(UniqueFd(ends[0])), ProcessLink(UniqueFd(ends[1])));
}

bool ProcessLink::send(const Note& note) const {
  return send(note, UniqueFd());
}

bool ProcessLink::send(const Note& note, const UniqueFd& with) const {
  std::string packet(1, static_cast<char>(note.kind));
  packet.append(note.text, 0, max_text(note.kind));
  iovec data{.iov_base = packet.data(), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  Ancillary ancillary{};
  if (with) {
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = ancillary.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = with.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0;
}

// Of the next packet: most are short. nullopt: there is none.
Result<std::optional<std::size_t>> ProcessLink::next_size() const {
  char first = 0;
  const ssize_t whole = ::recv(socket_.get(), &first, 1, MSG_PEEK | MSG_TRUNC);
  if (whole < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (whole <= 0) return fail(Errc::kIo, "the other process has exited");
  return std::min(static_cast<std::size_t>(whole), kMaxPacket);
}

Result<std::optional<Note>> ProcessLink::receive() const {
  const auto next = next_size();
  if (!next) return std::unexpected(next.error());
  if (!*next) return std::nullopt;
  std::string packet(**next, '\0');
  const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), 0);
  if (size <= 0) return fail(Errc::kIo, "the other process has exited");
  packet.resize(static_cast<std::size_t>(size));
  return read_note(packet);
}

Result<std::optional<ProcessLink::NoteWithSocket>> ProcessLink::receive_with_socket() const {
  const auto next = next_size();
  if (!next) return std::unexpected(next.error());
  if (!*next) return std::nullopt;
  std::string packet(**next, '\0');
  iovec data{.iov_base = packet.data(), .iov_len = packet.size()};
  Ancillary ancillary{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return fail(Errc::kIo, "the other process has exited");
  packet.resize(static_cast<std::size_t>(size));
  NoteWithSocket received{.note = read_note(packet), .socket = UniqueFd()};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    received.socket.reset(fd);
  }
  return received;
}

}  // namespace paravane::privsep
