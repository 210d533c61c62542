#include "vfio_user/message_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::vfio_user {
namespace {

constexpr std::size_t kUsualBytes = std::size_t{32} << 10;

struct Received {
  ssize_t bytes;
  bool truncated;
  std::vector<UniqueFd> fds;
};

Received receive(int socket, std::span<std::byte> into) {
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxMessageFds)> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();

  Received received{};
  do {
    received.bytes = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_PEEK);
  } while (received.bytes < 0 && errno == EINTR);
  if (received.bytes < 0) return received;
  received.truncated = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      UniqueFd owned(fd);
      // Without memory it is as one that was never sent.
      if (!runs_in_memory([&] { received.fds.push_back(std::move(owned)); })) {
        received.truncated = true;
      }
    }
  }
  return received;
}

}  // namespace

MessageStream::Fill MessageStream::fill(int socket) {
  if (!looks_ && !look_from(socket, unsettled_)) return Fill::kFailed;
  make_room();
  const std::size_t room = buffer_.size() - end_;
  Received received = receive(socket, std::span(buffer_).subspan(end_));
  if (received.bytes < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK ? Fill::kEmpty : Fill::kFailed;
  }
  if (received.bytes == 0) return Fill::kClosed;
  end_ += static_cast<std::size_t>(received.bytes);

  if (!received.fds.empty() || received.truncated) {
    merge_arrived();
    arrived_.push_back(Arrived{.position = handed_out_ + (end_ - begin_) - 1,
                               .fds = std::move(received.fds),
                               .lost = received.truncated});
    return Fill::kMore;  // the read ended for their sake
  }
  return static_cast<std::size_t>(received.bytes) == room ? Fill::kMore : Fill::kDrained;
}

std::expected<std::optional<Request>, std::string> MessageStream::next() {
  const std::optional<Header> front = header();
  if (!front) return std::nullopt;
  const std::uint32_t size = front->size.get();
  if (!possible(*front)) {
    return std::unexpected("a message of " + std::to_string(size) + " bytes (command " +
                           std::to_string(front->command.get()) + ")");
  }
  if (end_ - begin_ < size) return std::nullopt;

  Request request;
  request.header = *front;
  request.payload = std::span(buffer_).subspan(begin_ + sizeof(Header), size - sizeof(Header));
  begin_ += size;
  handed_out_ += size;
  unsettled_ += size;
  take_descriptors(request);
  return request;
}

// The kernel moves the place on by what is read, and back by what is taken out.
bool MessageStream::look_from(int socket, std::uint64_t offset) {
  const int place = static_cast<int>(offset);
  looks_ = setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &place, sizeof place) == 0;
  return looks_;
}

// By one read, unless descriptors came with a later part; they are closed here, and fill() has had
// them.
bool MessageStream::settle(int socket) {
  std::array<std::byte, 512> usual;
  std::vector<std::byte> long_one;
  while (unsettled_ > 0) {
    if (unsettled_ > usual.size()) long_one.resize(unsettled_);
    const std::span<std::byte> seen =
        long_one.empty() ? std::span<std::byte>(usual).first(unsettled_) : std::span(long_one);
    const ssize_t taken = recv(socket, seen.data(), unsettled_, MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return false;
    unsettled_ -= static_cast<std::uint64_t>(taken);
  }
  return true;
}

bool MessageStream::begins_with(int socket, const Header& request) {
  Header front;
  const bool is_whole = look_from(socket, 0) &&
                        recv(socket, &front, sizeof front, MSG_DONTWAIT | MSG_PEEK) == sizeof front;
  looks_ = false;  // that was a look, too
  return is_whole && std::memcmp(&front, &request, sizeof front) == 0;
}

bool MessageStream::has_next() const {
  const std::optional<Header> front = header();
  return front && (!possible(*front) || end_ - begin_ >= front->size.get());
}

std::optional<Header> MessageStream::header() const {
  return leading<Header>(std::span(buffer_).subspan(begin_, end_ - begin_));
}

bool MessageStream::possible(const Header& header) {
  const std::uint32_t size = header.size.get();
  return size >= sizeof(Header) && size <= kMaxMessageBytes;
}

// Room for the rest of the message at the front, or for a usual read.
void MessageStream::make_room() {
  const std::size_t held = end_ - begin_;
  std::size_t need = std::max(kUsualBytes, held + sizeof(Header));
  if (const std::optional<Header> front = header(); front && possible(*front)) {
    need = std::max<std::size_t>(need, front->size.get());
  }
  if (held > 0 && begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, held);
  begin_ = 0;
  end_ = held;
  if (buffer_.size() < need || (held == 0 && buffer_.size() > kUsualBytes)) {
    buffer_.resize(need);
    buffer_.shrink_to_fit();
  }
}

// What has arrived before this read is of the first message, which is not whole
// yet; a client may send each of its bytes with descriptors.
void MessageStream::merge_arrived() {
  if (arrived_.size() < 2) return;
  Arrived& first = arrived_[0];
  Arrived& second = arrived_[1];
  first.lost |= second.lost || first.fds.size() + second.fds.size() > kMaxMessageFds;
  const bool had_memory = runs_in_memory([&] {
    for (UniqueFd& fd : second.fds) {
      if (first.fds.size() < kMaxMessageFds) first.fds.push_back(std::move(fd));
    }
  });
  first.lost |= !had_memory;
  arrived_.pop_back();
}

void MessageStream::take_descriptors(Request& request) {
  while (!arrived_.empty() && arrived_.front().position < handed_out_) {
    Arrived batch = std::move(arrived_.front());
    arrived_.erase(arrived_.begin());
    const bool had_memory = runs_in_memory([&] {
      for (UniqueFd& fd : batch.fds) request.fds.push_back(std::move(fd));
    });
    request.fds_lost |= batch.lost || !had_memory;
  }
  if (request.fds.size() <= kMaxMessageFds) return;
  request.fds.resize(kMaxMessageFds);
  request.fds_lost = true;
}

}  // namespace paravane::vfio_user
