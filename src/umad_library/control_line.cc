#include "umad_library/control_line.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "umad_library/socket_identity.h"

namespace paravane::umad_library {
namespace {

using umad::Answer;
using umad::Outcome;
using umad::Question;

constexpr const char* kUsualDoor = "/run/paravane/umad.sock";
constexpr timeval kConnectLimit{.tv_sec = 2, .tv_usec = 0};  // its backlog may be full
constexpr std::uint32_t kLastOutcome = static_cast<std::uint32_t>(Outcome::kBadLine);

// The first descriptor that came along; the others are closed.
UniqueFd descriptor_of(msghdr& message) {
  UniqueFd first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      UniqueFd fd(number);
      if (!first) first = std::move(fd);
    }
  }
  return first;
}

int ended_or(int error) {
  return error == ECONNRESET || error == ENOTCONN ? EPIPE : error;
}

}  // namespace

std::string door_path() {
  const char* chosen = ::secure_getenv("PARAVANE_UMAD_DOOR");
  return chosen != nullptr && *chosen != '\0' ? chosen : kUsualDoor;
}

std::expected<ControlLine, int> ControlLine::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::unexpected(ENAMETOOLONG);
  std::ranges::copy(path, address.sun_path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return std::unexpected(errno);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectLimit, sizeof kConnectLimit);
  int done = 0;
  do {
    done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (done != 0 && errno == EINTR);
  if (done != 0) return std::unexpected(errno);
  const ino_t inode = socket_identity(socket.get());
  return ControlLine(std::move(socket), inode, ::getpid());
}

bool ControlLine::is_ours() const {
  return ::getpid() == process_ && socket_identity(socket_.get()) == inode_;
}

int ControlLine::say(const Question& question) const {
  ssize_t count = 0;
  do {
    count = ::send(socket_.get(), &question, sizeof question, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count == sizeof question) return 0;
  return errno == EAGAIN ? ETIMEDOUT : ended_or(errno);
}

int ControlLine::wait_for_answer(Instant deadline) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const auto timeout = std::max(left, std::chrono::milliseconds(0)).count();
    const int count = ::poll(&ready, 1, static_cast<int>(timeout));
    if (count > 0) return 0;
    if (count == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
}

std::expected<Outcome, int> ControlLine::ask(const Question& question, std::span<std::byte> answer,
                                             UniqueFd* mad_line, Instant deadline) {
  if (const int error = say(question); error != 0) return std::unexpected(error);
  if (const int error = wait_for_answer(deadline); error != 0) return std::unexpected(error);

  Answer head;
  std::byte more{};  // an answer that is too long shows in it
  std::array<iovec, 3> into{iovec{.iov_base = &head, .iov_len = sizeof head},
                            iovec{.iov_base = answer.data(), .iov_len = answer.size()},
                            iovec{.iov_base = &more, .iov_len = 1}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = into.data();
  message.msg_iovlen = into.size();
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0) return std::unexpected(ended_or(errno));
  UniqueFd came = descriptor_of(message);  // a message without bytes can have some too
  if (count == 0) return std::unexpected(EPIPE);

  const auto bytes = static_cast<std::size_t>(count);
  if (bytes < sizeof head || head.outcome.get() > kLastOutcome) return std::unexpected(EPROTO);
  const auto outcome = static_cast<Outcome>(head.outcome.get());
  const bool is_done = outcome == Outcome::kDone;
  const bool has_line = is_done && mad_line != nullptr;
  if (bytes != sizeof head + (is_done ? answer.size() : 0) ||
      (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0 || static_cast<bool>(came) != has_line) {
    return std::unexpected(EPROTO);
  }
  if (has_line) *mad_line = std::move(came);
  return outcome;
}

}  // namespace paravane::umad_library
