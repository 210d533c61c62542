// Would io_uring move a channel's bytes better than plain sockets do?
//
// The same bytes over the same TCP connection, sent and received by io_uring, which does
// each step with one system call too (submit and wait), beside send() and recv(): pieces
// as long as the channel's longest, and records as short as an 8 B write's, to and fro.
// docs/tcp-channel.md says what was chosen.

#include <fcntl.h>
#include <liburing.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "bench/question.h"
#include "bench/stopwatch.h"
#include "bench/two_networks.h"

namespace paravane::bench {
namespace {

constexpr std::size_t kLongBytes = std::size_t{256} * 1024;
constexpr std::uint64_t kLongPieces = 4096;
constexpr std::size_t kShortBytes = 136;
constexpr std::uint64_t kRounds = 10'000;

class PlainSocket {
 public:
  explicit PlainSocket(int fd) : fd_(fd) {}
  ssize_t send(std::span<const std::byte> from) const {
    return ::send(fd_, from.data(), from.size(), MSG_NOSIGNAL);
  }
  ssize_t receive(std::span<std::byte> to) const { return ::recv(fd_, to.data(), to.size(), 0); }

 private:
  int fd_;
};

class RingSocket {
 public:
  explicit RingSocket(int fd) : fd_(fd) {
    demand(::io_uring_queue_init(8, &ring_, 0) == 0, "this kernel has no io_uring");
  }
  ~RingSocket() { ::io_uring_queue_exit(&ring_); }
  RingSocket(const RingSocket&) = delete;
  RingSocket& operator=(const RingSocket&) = delete;

  ssize_t send(std::span<const std::byte> from) {
    ::io_uring_prep_send(::io_uring_get_sqe(&ring_), fd_, from.data(), from.size(), MSG_NOSIGNAL);
    return done();
  }
  ssize_t receive(std::span<std::byte> to) {
    ::io_uring_prep_recv(::io_uring_get_sqe(&ring_), fd_, to.data(), to.size(), 0);
    return done();
  }

 private:
  ssize_t done() {
    demand(::io_uring_submit_and_wait(&ring_, 1) >= 0, "io_uring does not take a request");
    io_uring_cqe* entry = nullptr;
    demand(::io_uring_wait_cqe(&ring_, &entry) == 0, "io_uring does not answer");
    const ssize_t result = entry->res;
    ::io_uring_cqe_seen(&ring_, entry);
    return result;
  }

  int fd_;
  io_uring ring_{};
};

template <typename End>
void send_all(End& end, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t sent = end.send(from);
    demand(sent > 0, "a bare connection breaks");
    from = from.subspan(static_cast<std::size_t>(sent));
  }
}

template <typename End>
void receive_all(End& end, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = end.receive(to);
    demand(got > 0, "a bare connection breaks");
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

struct Sockets {
  explicit Sockets(const TwoNetworks& networks) : ends(networks.connect()) {
    for (const UniqueFd& end : ends) ::fcntl(end.get(), F_SETFL, 0);  // they wait
  }
  std::array<UniqueFd, 2> ends;
};

// MB/s.
template <typename End>
double long_pieces(const Settings& settings, const TwoNetworks& networks) {
  const Sockets sockets(networks);
  const Stopwatch watch;
  std::thread receiver([&] {
    const OnCore here(settings.cores.worker);
    End end(sockets.ends[1].get());
    std::vector<std::byte> to(kLongBytes);
    for (std::uint64_t i = 0; i < kLongPieces; ++i) receive_all(end, to);
  });
  std::thread sender([&] {
    const OnCore here(settings.cores.guest);
    End end(sockets.ends[0].get());
    const std::vector<std::byte> from(kLongBytes, std::byte{0x5A});
    for (std::uint64_t i = 0; i < kLongPieces; ++i) send_all(end, from);
  });
  sender.join();
  receiver.join();
  return static_cast<double>(kLongPieces * kLongBytes) / watch.seconds() / 1e6;
}

// Microseconds there and back.
template <typename End>
double short_records(const Settings& settings, const TwoNetworks& networks) {
  const Sockets sockets(networks);
  double elapsed = 0;
  std::thread answers([&] {
    const OnCore here(settings.cores.worker);
    End end(sockets.ends[1].get());
    std::vector<std::byte> record(kShortBytes);
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      receive_all(end, record);
      send_all(end, record);
    }
  });
  std::thread asks([&] {
    const OnCore here(settings.cores.guest);
    End end(sockets.ends[0].get());
    std::vector<std::byte> record(kShortBytes);
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      send_all(end, record);
      receive_all(end, record);
    }
    elapsed = watch.microseconds();
  });
  asks.join();
  answers.join();
  return elapsed / kRounds;
}

}  // namespace

Figures ring_or_socket(const Settings& settings) {
  const TwoNetworks networks;
  Figure bulk{.name = "io_uring, 256 KiB pieces",
              .unit = "MB/s",
              .floor_name = "send() and recv() of the same pieces"};
  bulk.measure(
      settings.repetitions, [&] { return long_pieces<PlainSocket>(settings, networks); },
      [&] { return long_pieces<RingSocket>(settings, networks); });
  Figure records{.name = "io_uring, 136 B and back",
                 .unit = "us",
                 .floor_name = "send() and recv() of the same records"};
  records.measure(
      settings.repetitions, [&] { return short_records<PlainSocket>(settings, networks); },
      [&] { return short_records<RingSocket>(settings, networks); });
  return {bulk, records};
}

}  // namespace paravane::bench
