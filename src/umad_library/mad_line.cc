#include "umad_library/mad_line.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace paravane::umad_library {
namespace {

using umad::kMostPart;
using umad::MadPart;

constexpr int kSlowestMs = 2000;       // as long as a daemon may read nothing
constexpr std::size_t kLeastMad = 24;  // its common header

// One message of a head and bytes behind it; the count of bytes of the whole message, or -1.
ssize_t receive(int fd, MadPart& head, std::span<std::byte> into, int flags) {
  std::array<iovec, 2> parts{iovec{.iov_base = &head, .iov_len = sizeof head},
                             iovec{.iov_base = into.data(), .iov_len = into.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::recvmsg(fd, &message, flags | MSG_DONTWAIT | MSG_TRUNC);
}

bool receive_whole(int fd, MadPart& head, std::span<std::byte> into) {
  return receive(fd, head, into, 0) == static_cast<ssize_t>(sizeof head + into.size());
}

bool send_part(int fd, const MadPart& head, std::span<const std::byte> bytes) {
  // sendmsg() only reads them.
  std::array<iovec, 2> parts{
      iovec{.iov_base = const_cast<MadPart*>(&head), .iov_len = sizeof head},
      iovec{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    if (::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int count = ::poll(&ready, 1, kSlowestMs);
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
  }
}

}  // namespace

int send_mad(int fd, MadPart head, std::span<const std::byte> mad) {
  head.total = Le32(static_cast<std::uint32_t>(mad.size()));
  for (std::size_t offset = 0; offset < mad.size(); offset += kMostPart) {
    head.offset = Le32(static_cast<std::uint32_t>(offset));
    const auto part = mad.subspan(offset, std::min(kMostPart, mad.size() - offset));
    if (send_part(fd, head, part)) continue;
    ::shutdown(fd, SHUT_RDWR);
    return EPIPE;
  }
  return 0;
}

bool MadReader::is_next_part(const MadPart& part, std::size_t bytes) const {
  const std::size_t total = part.total.get();
  if (total < kLeastMad || total > umad::kMostMad || part.agent.get() >= umad::kMostAgents) {
    return false;
  }
  if (!joined_.empty() && (part.agent != head_.agent || part.total != head_.total)) return false;
  return part.offset.get() == joined_.size() &&
         bytes == std::min(kMostPart, total - joined_.size());
}

MadReader::Sight MadReader::look(int fd) {
  for (;;) {
    MadPart part;
    const ssize_t count = receive(fd, part, {}, MSG_PEEK);
    if (count < 0) {
      return errno == EAGAIN || errno == EINTR ? Sight::kNothing : Sight::kEnded;
    }
    if (count == 0) return Sight::kEnded;
    const auto size = static_cast<std::size_t>(count);
    if (size < sizeof part || !is_next_part(part, size - sizeof part)) return Sight::kBroken;
    const std::size_t bytes = size - sizeof part;
    head_ = part;
    if (joined_.size() + bytes == total()) return Sight::kMad;
    const std::size_t before = joined_.size();
    joined_.resize(before + bytes);
    if (!receive_whole(fd, part, std::span(joined_).subspan(before))) return Sight::kBroken;
  }
}

bool MadReader::copy_beginning(int fd, std::span<std::byte> into) const {
  if (!joined_.empty()) {
    std::copy_n(joined_.begin(), std::min(joined_.size(), into.size()), into.begin());
    return true;
  }
  MadPart part;
  return receive(fd, part, into.first(std::min(into.size(), total())), MSG_PEEK) > 0;
}

bool MadReader::take(int fd, std::span<std::byte> into) {
  std::ranges::copy(joined_, into.begin());
  MadPart part;
  const bool is_whole =
      receive_whole(fd, part, into.subspan(joined_.size(), total() - joined_.size()));
  joined_.clear();
  return is_whole;
}

}  // namespace paravane::umad_library
