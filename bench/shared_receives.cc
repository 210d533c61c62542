// How many sends of 64 bytes per second do queue pairs take that share a receive
// queue?
//
// Eight connections; each sends bursts of eight; the receiver posts a receive again
// for each that has come. The floor is the same with a receive queue for each queue
// pair, so that the ratio is what sharing costs.

#include <array>

#include "bench/host.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kConnections = 8;
constexpr std::uint32_t kBurst = 8;
constexpr std::uint32_t kRing = 32;  // of each queue pair
constexpr std::uint32_t kReceives = kConnections * kRing;
constexpr std::uint64_t kSends = 200'000;
constexpr std::uint32_t kBytes = 64;
constexpr double kMega = 1e6;

// Senders in the first guest, receivers in the second.
class Senders {
 public:
  Senders(Host& host, bool sharing) {
    for (unsigned i = 0; i < 2; ++i) {
      fake::FakeGuest& guest = host.guest(i);
      fake::FakeContext& process = guest.open_context();
      pd_[i] = &guest.create_pd(process);
      cq_[i] = &guest.create_cq(process, 2 * kReceives);
      buffer_[i] = &guest.register_memory(*pd_[i], std::uint64_t{kReceives} * kBytes);
    }
    if (sharing) shared_ = &host.guest(1).create_srq({.pd = pd_[1], .max_wr = kReceives});
    for (std::uint32_t i = 0; i < kConnections; ++i) connect(host, i);
    buffer_[0]->fill_pattern(7);
    for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(i / kRing, i);
    for (std::uint32_t i = 0; i < kConnections; ++i) ring_receive(i);
  }

  double send() {
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t received = 0;
    const Stopwatch watch;
    for (std::uint32_t turn = 0; completed < kSends || received < kSends; ++turn) {
      const std::uint32_t which = turn % kConnections;
      // What each has under way is within its own share of the receives.
      if (posted < kSends && under_way_[which] + kBurst <= kRing) {
        for (std::uint32_t i = 0; i < kBurst; ++i) post_send(which);
        sends_[which]->ring(fake::kRingSend);
        posted += kBurst;
      }
      completed += take_sends();
      received += take_receives();
    }
    return kSends / watch.seconds() / kMega;
  }

 private:
  void connect(Host& host, std::uint32_t i) {
    sends_[i] = &host.guest(0).create_qp(
        {.pd = pd_[0], .send_cq = cq_[0], .receive_cq = cq_[0], .max_send_wr = kRing});
    receives_[i] = &host.guest(1).create_qp({.pd = pd_[1],
                                             .send_cq = cq_[1],
                                             .receive_cq = cq_[1],
                                             .max_recv_wr = kRing,
                                             .srq = shared_});
    demand(host.guest(0).connect(*sends_[i], host.guest(1).gid(), receives_[i]->number) &&
               host.guest(1).connect(*receives_[i], host.guest(0).gid(), sends_[i]->number),
           "two queue pairs cannot be connected");
  }

  void post_send(std::uint32_t which) {
    const pvrdma_sge sge = buffer_[0]->sge(std::uint64_t{which} * kBytes, kBytes);
    demand(sends_[which]->queue_send({.wr_id = which, .sges = {&sge, 1}}), "a send ring is full");
    ++under_way_[which];
  }
  void post_receive(std::uint32_t which, std::uint64_t slot) {
    const pvrdma_sge sge = buffer_[1]->sge(slot % kReceives * kBytes, kBytes);
    const fake::ReceiveWr wr{.wr_id = slot << 8 | which, .sges = {&sge, 1}};
    const bool queued =
        shared_ != nullptr ? shared_->queue_receive(wr) : receives_[which]->queue_receive(wr);
    demand(queued, "a receive ring is full");
  }
  void ring_receive(std::uint32_t which) {
    shared_ != nullptr ? shared_->ring() : receives_[which]->ring(fake::kRingReceive);
  }

  std::uint32_t take_sends() {
    std::uint32_t taken = 0;
    for (pvrdma_cqe done; taken < kReceives && cq_[0]->take(done); ++taken) {
      demand(done.status == PVRDMA_WC_SUCCESS, "a send completed with an error");
      --under_way_[done.wr_id];
    }
    return taken;
  }
  std::uint32_t take_receives() {
    std::uint32_t taken = 0;
    std::array<bool, kConnections> rings{};
    for (pvrdma_cqe done; taken < kReceives && cq_[1]->take(done); ++taken) {
      demand(done.status == PVRDMA_WC_SUCCESS && done.byte_len == kBytes, "a receive went wrong");
      const auto which = static_cast<std::uint32_t>(done.wr_id & 0xFF);
      post_receive(which, done.wr_id >> 8);
      rings[which] = true;
    }
    if (shared_ != nullptr && taken > 0) shared_->ring();
    for (std::uint32_t i = 0; shared_ == nullptr && i < kConnections; ++i) {
      if (rings[i]) ring_receive(i);
    }
    return taken;
  }

  std::array<fake::FakePd*, 2> pd_{};
  std::array<fake::FakeCq*, 2> cq_{};
  std::array<fake::FakeMr*, 2> buffer_{};
  fake::FakeSrq* shared_ = nullptr;
  std::array<fake::FakeQp*, kConnections> sends_{};
  std::array<fake::FakeQp*, kConnections> receives_{};
  std::array<std::uint32_t, kConnections> under_way_{};
};

}  // namespace

Figures shared_receives(const Settings& settings) {
  Host host(settings.cores);
  Senders sharing(host, true);
  Senders apart(host, false);
  Figure figure{.name = "send 64 B, shared receive queue",
                .unit = "million/s",
                .floor_name = "eight connections, a receive queue for each"};
  figure.measure(
      settings.repetitions, [&] { return apart.send(); }, [&] { return sharing.send(); });
  return {std::move(figure)};
}

}  // namespace paravane::bench
