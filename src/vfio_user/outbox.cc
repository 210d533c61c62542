#include "vfio_user/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace paravane::vfio_user {
namespace {

// Bytes taken by the socket; -1 with errno set.
ssize_t send_some(int socket, std::span<const std::byte> bytes, int fd) {
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

bool socket_is_full() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Outbox::Sent Outbox::send(int socket, std::span<const std::byte> message, int fd) {
  assert(!pending());
  by_file_ = exchange_ != nullptr && fd < 0 && message.size() <= Exchange::kMostAnswer;
  if (by_file_ && exchange_->has_room_for(socket, message.size())) {
    exchange_->answer(message);
    const Sent done = send_by_file(socket);
    if (done == Sent::kLater) send_later(exchange_->rest());
    return done;
  }
  if (by_file_) {
    send_later(message);
    return Sent::kLater;
  }
  if (exchange_ != nullptr) exchange_->answer_otherwise();
  const ssize_t sent = send_some(socket, message, fd);
  if (sent < 0 && !socket_is_full()) return Sent::kFailed;
  const std::size_t done = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (done == message.size()) return Sent::kAll;
  rest_.assign(message.begin() + static_cast<std::ptrdiff_t>(done), message.end());
  sent_ = 0;
  fd_ = done == 0 ? fd : -1;
  return Sent::kLater;
}

Outbox::Sent Outbox::send_by_file(int socket) {
  while (!exchange_->rest().empty()) {
    const std::ptrdiff_t sent = exchange_->send_rest(socket);
    if (sent < 0) return socket_is_full() ? Sent::kLater : Sent::kFailed;
    if (sent == 0) {
      errno = EIO;
      return Sent::kFailed;
    }
  }
  return Sent::kAll;
}

void Outbox::send_later(std::span<const std::byte> message) {
  by_file_ = true;
  rest_.assign(message.begin(), message.end());
  sent_ = 0;
  fd_ = -1;
}

Outbox::Sent Outbox::flush(int socket) {
  if (pending() && by_file_) {
    if (exchange_->step() != Exchange::Step::kSending) {
      if (!exchange_->has_room_for(socket, rest_.size())) return Sent::kLater;
      exchange_->answer(rest_);
    }
    const Sent done = send_by_file(socket);
    sent_ = done == Sent::kAll ? rest_.size() : rest_.size() - exchange_->rest().size();
    if (done != Sent::kAll) return done;
  }
  while (pending()) {
    const ssize_t sent = send_some(socket, std::span(rest_).subspan(sent_), fd_);
    if (sent < 0) return socket_is_full() ? Sent::kLater : Sent::kFailed;
    if (sent > 0) fd_ = -1;
    sent_ += static_cast<std::size_t>(sent);
  }
  rest_ = {};
  sent_ = 0;
  return Sent::kAll;
}

}  // namespace paravane::vfio_user
