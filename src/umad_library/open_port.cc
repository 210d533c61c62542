#include "umad_library/open_port.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "umad_library/addresses.h"
#include "umad_library/socket_identity.h"

namespace paravane::umad_library {
namespace {

constexpr std::size_t kPlainMad = 256;
constexpr std::size_t kShortestSent = 36;  // with RMPP's header, as the kernel wants it

umad::MadPart head_of(const ib_user_mad& header) {
  umad::MadPart head;
  head.agent = Le32(header.agent_id);
  head.timeout_ms = Le32(header.timeout_ms);
  head.retries = Le32(header.retries);
  head.address = to_door_address(header.addr);
  return head;
}

void fill_header(const umad::MadPart& head, std::size_t total, ib_user_mad& header) {
  header.agent_id = head.agent.get();
  header.status = head.status.get();
  header.timeout_ms = head.timeout_ms.get();
  header.retries = head.retries.get();
  header.length = static_cast<std::uint32_t>(kHeaderBytes + total);
  header.addr = from_door_address(head.address);
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

}  // namespace

OpenPort::OpenPort(Place place, UniqueFd socket)
    : place_(place), fd_(socket.release()), socket_(socket_identity(fd_)) {
  set_nonblocking(fd_);
}

OpenPort::Generation OpenPort::generation() {
  const MutexLock lock(state_);
  return generation_;
}

OpenPort::Agents OpenPort::agents() {
  const MutexLock lock(state_);
  return agents_;
}

void OpenPort::set_agent(std::uint32_t number, const std::optional<umad::AgentWish>& wish) {
  const MutexLock lock(state_);
  agents_[number] = wish;
  if (!wish) unanswered_.forget_agent(number);
}

bool OpenPort::is_open() {
  if (!is_closed_ && socket_identity(fd_) != socket_) is_closed_ = true;
  return !is_closed_;
}

// What the kernel refuses.
int OpenPort::check(const umad::MadPart& head, std::size_t length) {
  if (!is_open()) return EBADF;
  const std::uint32_t agent = head.agent.get();
  if (agent >= agents_.size() || !agents_[agent]) return EINVAL;
  const bool may_be_long = agents_[agent]->rmpp_version != 0;
  const std::size_t most = may_be_long ? umad::kMostMad : kPlainMad;
  return length < kShortestSent || length > most ? EINVAL : 0;
}

OpenPort::Ended OpenPort::send(const ib_user_mad& header, std::span<const std::byte> mad) {
  const umad::MadPart head = head_of(header);
  const MutexLock turn(sending_);
  Generation generation = 0;
  {
    const MutexLock lock(state_);
    if (const int error = check(head, mad.size()); error != 0) return {.error = error};
    generation = generation_;
    // Before it is sent: the answer may be faster than this thread.
    if (header.timeout_ms != 0) {
      unanswered_.add(head, mad, std::chrono::steady_clock::now());
    }
  }
  if (send_mad(fd_, head, mad) == 0) return {};
  const MutexLock lock(state_);
  unanswered_.take_back(head.agent.get(), mad);
  return {.error = EPIPE, .generation = generation};
}

void OpenPort::lose(const ib_user_mad& header, std::span<const std::byte> mad) {
  if (header.timeout_ms == 0) return;
  const MutexLock lock(state_);
  unanswered_.add(head_of(header), mad, std::chrono::steady_clock::now());
  unanswered_.lose(header.agent_id, mad);
}

OpenPort::Ended OpenPort::see_line() {
  if (!is_open()) return {.error = EBADF};
  switch (reader_.look(fd_)) {
    case MadReader::Sight::kMad: return {};
    case MadReader::Sight::kNothing: return {.error = EAGAIN};
    case MadReader::Sight::kEnded: break;
    case MadReader::Sight::kBroken: ::shutdown(fd_, SHUT_RDWR); break;
  }
  unanswered_.lose_all();
  return {.error = EPIPE, .generation = generation_};
}

OpenPort::Ended OpenPort::look() {
  const MutexLock lock(state_);
  if (is_open() && unanswered_.due(std::chrono::steady_clock::now()) != nullptr) return {};
  return see_line();
}

Instant OpenPort::next_due() {
  const MutexLock lock(state_);
  return unanswered_.next_due();
}

OpenPort::Received OpenPort::report_lost(const Unanswered::Report& report, ib_user_mad& header,
                                         std::span<std::byte> room) {
  Received received{.agent = report.head.agent.get(), .length = report.mad.size()};
  if (room.size() < report.mad.size()) {
    received.error = EINVAL;
    return received;
  }
  fill_header(report.head, report.mad.size(), header);
  header.status = ETIMEDOUT;
  std::ranges::copy(report.mad, room.begin());
  unanswered_.reported();
  return received;
}

// A buffer that takes the first segment of a long MAD gets it, with ENOSPC: so does the kernel.
OpenPort::Received OpenPort::receive(ib_user_mad& header, std::span<std::byte> room) {
  const MutexLock lock(state_);
  if (is_open()) {
    const auto* lost = unanswered_.due(std::chrono::steady_clock::now());
    if (lost != nullptr) return report_lost(*lost, header, room);
  }
  const Ended seen = see_line();
  Received received{.error = seen.error, .generation = seen.generation};
  if (seen.error != 0) return received;
  const std::size_t total = reader_.total();
  received.agent = reader_.head().agent.get();
  received.length = total;
  bool is_there = true;
  if (room.size() < std::min(total, kPlainMad)) {
    received.error = EINVAL;
    return received;
  }
  fill_header(reader_.head(), total, header);
  if (room.size() < total) {
    received.error = ENOSPC;
    is_there = reader_.copy_beginning(fd_, room.first(kPlainMad));
  } else {
    is_there = reader_.take(fd_, room);
    if (is_there) unanswered_.see(reader_.head(), room.first(total));
  }
  if (!is_there) received.error = EAGAIN;
  return received;
}

bool OpenPort::renew(UniqueFd socket) {
  const MutexLock turn(sending_);
  const MutexLock lock(state_);
  if (!is_open()) return false;
  ::shutdown(fd_, SHUT_RDWR);  // wakes a thread that still waits for the old one
  if (::dup3(socket.get(), fd_, O_CLOEXEC) < 0) return false;
  set_nonblocking(fd_);
  socket_ = socket_identity(fd_);
  ++generation_;
  reader_.forget();
  unanswered_.lose_all();
  return true;
}

void OpenPort::close() {
  const MutexLock turn(sending_);
  const MutexLock lock(state_);
  if (!is_open()) return;
  is_closed_ = true;
  ::close(fd_);  // no shutdown(): a process that has forked may still use it
}

}  // namespace paravane::umad_library
