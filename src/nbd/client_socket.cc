#include "nbd/client_socket.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace paravane::nbd {
namespace {

// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): the kernel reads only
msghdr message_of_pieces(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return message;
}
// NOLINTEND(cppcoreguidelines-pro-type-const-cast)

IoResult failure_of_call() {
  switch (errno) {
    case EAGAIN: return {.kind = IoResult::Kind::kWouldBlock};
    case EFAULT: return {.kind = IoResult::Kind::kBadMemory};
    default: return {.kind = IoResult::Kind::kBroken};
  }
}

}  // namespace

std::uint32_t ClientSocket::watched_events() {
  return EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
}

void ClientSocket::heard(std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLHUP | EPOLLRDHUP | EPOLLERR;
  if ((events & (EPOLLIN | kEnd)) != 0) may_read_ = true;
  if ((events & (EPOLLOUT | kEnd)) != 0) may_write_ = true;
  if ((events & kEnd) != 0) has_end_ = true;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) has_hung_up_ = true;
}

// No event follows one that was heard: what has an end is read until it is found.
IoResult ClientSocket::read(std::span<const iovec> to) {
  msghdr message = message_of_pieces(to);
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    const IoResult result = failure_of_call();
    if (result.kind == IoResult::Kind::kWouldBlock) may_read_ = false;
    return result;
  }
  if (got == 0) return {.kind = IoResult::Kind::kClosed};
  std::size_t wanted = 0;
  for (const iovec& piece : to) wanted += piece.iov_len;
  const auto bytes = static_cast<std::size_t>(got);
  const bool was_all = bytes < wanted;
  if (was_all && !has_end_) may_read_ = false;
  return {.bytes = bytes, .was_all = was_all};
}

IoResult ClientSocket::write(std::span<const iovec> from) {
  const msghdr message = message_of_pieces(from);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
  const IoResult result = failure_of_call();
  if (result.kind == IoResult::Kind::kWouldBlock) may_write_ = false;
  return result;
}

IoResult ClientSocket::read_bytes(std::span<std::byte> to) {
  const iovec piece{.iov_base = to.data(), .iov_len = to.size()};
  return read(std::span(&piece, 1));
}

IoResult ClientSocket::write_bytes(std::span<const std::byte> from) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the kernel reads only
  const iovec piece{.iov_base = const_cast<std::byte*>(from.data()), .iov_len = from.size()};
  return write(std::span(&piece, 1));
}

bool ClientSocket::is_hung_up() const {
  pollfd look{.fd = socket_.get(), .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace paravane::nbd
