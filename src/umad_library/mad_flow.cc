#include "umad_library/mad_flow.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace paravane::umad_library {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Instant end_of(int timeout_ms) {
  return timeout_ms < 0 ? kNever : steady_clock::now() + milliseconds(timeout_ms);
}

// For poll().
int time_until(Instant then, Instant now) {
  if (then == kNever) return -1;
  const auto left = std::chrono::ceil<milliseconds>(std::max(then - now, Duration::zero()));
  return static_cast<int>(
      std::min<milliseconds::rep>(left.count(), std::numeric_limits<int>::max()));
}

// A thread that looks for a MAD until its limit.
class Wait {
 public:
  Wait(OpenPorts& ports, OpenPort& port, int timeout_ms, NotCancelled& thread)
      : ports_(ports),
        port_(port),
        thread_(thread),
        looks_once_(timeout_ms == 0),
        deadline_(end_of(timeout_ms)) {}

  // After a look at the port that found nothing, or the line ended. 0: look again; or EAGAIN,
  // ETIMEDOUT, EINTR, EBADF.
  int go_on(int error, OpenPort::Generation generation) {
    const bool has_ended = error == EPIPE;
    if (has_ended) {
      const int restored = ports_.restore(port_, generation, deadline_);
      if (restored == 0 || restored == EBADF) return restored;
    }
    return looks_once_ ? EAGAIN : wait(has_ended);
  }

 private:
  int wait(bool is_away) {
    const Instant now = steady_clock::now();
    const Instant due = port_.next_due();
    if (now >= deadline_ && due > now) return ETIMEDOUT;
    Instant until = std::min(deadline_, due);
    if (is_away) until = std::min(until, now + OpenPorts::kPause);
    const int count = thread_.wait(is_away ? -1 : port_.fd(), POLLIN, time_until(until, now));
    return count < 0 ? errno : 0;
  }

  OpenPorts& ports_;
  OpenPort& port_;
  NotCancelled& thread_;
  const bool looks_once_;
  const Instant deadline_;
};

bool finds_nothing(int error) {
  return error == EAGAIN || error == EPIPE;
}

}  // namespace

int send(OpenPorts& ports, OpenPort& port, const ib_user_mad& header,
         std::span<const std::byte> mad) {
  OpenPort::Ended sent = port.send(header, mad);
  if (sent.error != EPIPE) return sent.error;
  const int restored = ports.restore(port, sent.generation, steady_clock::now());
  if (restored == EBADF) return EBADF;
  if (restored == 0) sent = port.send(header, mad);
  if (sent.error != EPIPE) return sent.error;
  port.lose(header, mad);
  return 0;
}

OpenPort::Received receive(OpenPorts& ports, OpenPort& port, ib_user_mad& header,
                           std::span<std::byte> room, int timeout_ms, NotCancelled& thread) {
  Wait wait(ports, port, timeout_ms, thread);
  for (;;) {
    OpenPort::Received received = port.receive(header, room);
    if (!finds_nothing(received.error)) return received;
    received.error = wait.go_on(received.error, received.generation);
    if (received.error != 0) return received;
  }
}

int wait_for_mad(OpenPorts& ports, OpenPort& port, int timeout_ms, NotCancelled& thread) {
  Wait wait(ports, port, timeout_ms, thread);
  for (;;) {
    const OpenPort::Ended seen = port.look();
    if (!finds_nothing(seen.error)) return seen.error;
    const int error = wait.go_on(seen.error, seen.generation);
    if (error != 0) return error == EAGAIN ? ETIMEDOUT : error;
  }
}

}  // namespace paravane::umad_library
