#include "transport/tcp/socket_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace paravane::transport_tcp {
namespace {

// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): the kernel reads only
msghdr message_of(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return message;
}
// NOLINTEND(cppcoreguidelines-pro-type-const-cast)

}  // namespace

IoResult SocketStream::failure() {
  switch (errno) {
    case EAGAIN:
    case EINTR: return {.kind = IoResult::Kind::kWouldBlock};
    case EFAULT: return {.kind = IoResult::Kind::kBadMemory};
    default: error_ = errno; return {.kind = IoResult::Kind::kBroken};
  }
}

std::string SocketStream::problem() const {
  return std::string("the connection failed: ") + std::strerror(error_);
}

IoResult SocketStream::read(std::span<const iovec> to) {
  msghdr message = message_of(to);
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (got < 0) return failure();
  if (got == 0) return {.kind = IoResult::Kind::kClosed};
  std::size_t wanted = 0;
  for (const iovec& piece : to) wanted += piece.iov_len;
  const auto bytes = static_cast<std::size_t>(got);
  return {.bytes = bytes, .was_all = bytes < wanted};
}

IoResult SocketStream::write(std::span<const iovec> from) {
  const msghdr message = message_of(from);
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return failure();
  return {.bytes = static_cast<std::size_t>(sent)};
}

}  // namespace paravane::transport_tcp
