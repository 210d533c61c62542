// How long do 8 bytes take to the memory of another host's guest and back?
//
// Each guest waits for the last byte of its buffer and answers with an RDMA WRITE, as
// ib_write_lat does it. The floor is 8 bytes to and fro over a bare TCP connection between
// the same networks and cores, which waits in the same way: both look again and again, or
// both sleep in epoll. A worker that sleeps is told of a post by a trapped doorbell.

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

#include "bench/channel_pair.h"
#include "bench/host_queues.h"
#include "bench/question.h"
#include "bench/stopwatch.h"
#include "bench/there_and_back.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRounds = 20'000;
constexpr std::uint32_t kBytes = 8;

// One end of the bare connection.
class Socket {
 public:
  Socket(int fd, bool sleeps) : fd_(fd) {
    if (!sleeps) return;
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    demand(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0, "epoll fails");
  }
  void send() const {
    demand(::send(fd_, &word_, kBytes, MSG_NOSIGNAL) == kBytes, "a bare connection breaks");
  }
  void receive() {
    epoll_event event;
    while (epoll_ && ::epoll_wait(epoll_.get(), &event, 1, -1) != 1) {
    }
    while (::recv(fd_, &word_, kBytes, 0) != kBytes) {
      demand(errno == EAGAIN || errno == EINTR, "a bare connection breaks");
    }
  }

 private:
  int fd_;
  UniqueFd epoll_;
  std::uint64_t word_ = 0;
};

double bare(const Settings& settings, const TwoNetworks& networks, bool sleeps) {
  const std::array<UniqueFd, 2> sockets = networks.connect();
  double elapsed = 0;
  std::thread answers([&] {
    const OnCore here(settings.cores.worker);
    Socket socket(sockets[1].get(), sleeps);
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      socket.receive();
      socket.send();
    }
  });
  std::thread asks([&] {
    const OnCore here(settings.cores.guest);
    Socket socket(sockets[0].get(), sleeps);
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      socket.send();
      socket.receive();
    }
    elapsed = watch.microseconds();
  });
  asks.join();
  answers.join();
  return elapsed / kRounds;
}

Figure measure(const Settings& settings, const TwoNetworks& networks, bool sleeps) {
  ChannelPair hosts(settings, networks, Encryption::kSealed,
                    sleeps ? worker::SpinMode::kNever : worker::SpinMode::kAlways);
  HostQueues queues(hosts, {.in_kernel = sleeps});
  Figure figure{
      .name = sleeps ? "channel, 8 B and back, asleep" : "channel, 8 B and back, spinning",
      .unit = "us",
      .floor_name = sleeps ? "8 B over bare TCP and back, both ends asleep in epoll"
                           : "8 B over bare TCP and back, both ends spinning",
      .target = {Target::Of::kRatio, Target::Sense::kAtMost, 1.5}};
  figure.measure(
      settings.repetitions, [&] { return bare(settings, networks, sleeps); },
      [&] { return there_and_back(hosts, queues, kRounds); });
  return figure;
}

}  // namespace

Figures channel_latency(const Settings& settings) {
  const TwoNetworks networks;
  Figures figures;
  for (const bool sleeps : {false, true}) figures.push_back(measure(settings, networks, sleeps));
  return figures;
}

}  // namespace paravane::bench
