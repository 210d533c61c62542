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

#include "bench/channel_queues.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRounds = 20'000;
constexpr std::uint32_t kBytes = 8;
// What an end sends, and where it receives.
constexpr std::uint64_t kOut = 0;
constexpr std::uint64_t kIn = 2048;

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

// A guest that answers, or, with rounds to play, begins.
class Player final : public GuestProgram {
 public:
  Player(QueuesEnd& own, fake::FakeMr& peer, std::uint64_t begins_rounds)
      : own_(own), peer_(peer), rounds_(begins_rounds) {
    *word(kIn) = 0;
  }

  bool ready() const override {
    return (rounds_ > 0 && value_ == 0) || arrived() || own_.cq->unconsumed() > 0;
  }
  void step() override {
    if (rounds_ > 0 && value_ == 0) {
      watch_ = {};
      return go(1);
    }
    pvrdma_cqe completion;
    while (own_.cq->take(completion)) {
      demand(completion.status == PVRDMA_WC_SUCCESS, "a write completed with an error");
    }
    if (!arrived()) return;
    if (rounds_ == 0) return go(value_ + 1);
    if (value_ < rounds_) return go(value_ + 1);
    microseconds_ = watch_.microseconds() / static_cast<double>(rounds_);
    ++value_;
    end();
  }
  double microseconds() const { return microseconds_; }

 private:
  std::uint64_t* word(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t*>(own_.buffer->at(offset));
  }
  // Who begins waits for its own value to come back, who answers for the next one.
  bool arrived() const {
    return *word(kIn) == (rounds_ > 0 ? value_ : value_ + 1) && *word(kIn) != 0;
  }
  void go(std::uint64_t value) {
    value_ = value;
    *word(kOut) = value;
    const pvrdma_sge sge = own_.buffer->sge(kOut, kBytes);
    const bool posted = own_.qps[0]->post_send({.wr_id = value,
                                                .opcode = PVRDMA_WR_RDMA_WRITE,
                                                .remote_addr = peer_.va() + kIn,
                                                .rkey = peer_.rkey,
                                                .sges = {&sge, 1}});
    demand(posted, "the send ring is full");
  }

  QueuesEnd& own_;
  fake::FakeMr& peer_;
  const std::uint64_t rounds_;
  std::uint64_t value_ = 0;
  Stopwatch watch_;
  double microseconds_ = 0;
};

double play(ChannelPair& hosts, ChannelQueues& queues) {
  Player answers(queues.end(1), *queues.end(0).buffer, 0);
  Player asks(queues.end(0), *queues.end(1).buffer, kRounds);
  hosts.host(1).run(&answers);
  hosts.host(0).run(&asks);
  asks.await_end();
  hosts.host(0).run(nullptr);
  hosts.host(1).run(nullptr);
  return asks.microseconds();
}

Figure measure(const Settings& settings, const TwoNetworks& networks, bool sleeps) {
  ChannelPair hosts(settings, networks, Encryption::kSealed,
                    sleeps ? worker::SpinMode::kNever : worker::SpinMode::kAlways);
  ChannelQueues queues(hosts, {.in_kernel = sleeps});
  Figure figure{
      .name = sleeps ? "channel, 8 B and back, asleep" : "channel, 8 B and back, spinning",
      .unit = "us",
      .floor_name = sleeps ? "8 B over bare TCP and back, both ends asleep in epoll"
                           : "8 B over bare TCP and back, both ends spinning",
      .target = {Target::Of::kRatio, Target::Sense::kAtMost, 1.5}};
  figure.measure(
      settings.repetitions, [&] { return bare(settings, networks, sleeps); },
      [&] { return play(hosts, queues); });
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
