// How long does a fetch-and-add to a peer's memory take, and how many are there per
// second?
//
// The sum is checked: each one happened, once. The floor of the time is a word said
// to the worker's core, which adds with one lock-prefixed instruction and answers:
// two hops. That of the rate are both cores adding to one word as fast as they can,
// with nothing asked and nothing answered.

#include <atomic>

#include "bench/connection.h"
#include "bench/question.h"
#include "bench/shared_line.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRounds = 20'000;
constexpr std::uint64_t kAdds = 200'000;
constexpr std::uint32_t kBatch = 32;
constexpr std::uint32_t kDepth = 128;  // requests outstanding
constexpr std::uint64_t kTarget = 64;  // offset of the word in the peer's buffer
constexpr std::uint32_t kWord = 8;
constexpr double kMega = 1e6;

class Adder {
 public:
  explicit Adder(Host& host) : host_(host), connection_(host, {.send_requests = kDepth}) {
    connection_.end(0).buffer->fill(std::byte{0});
    connection_.end(1).buffer->fill(std::byte{0});
  }

  double one_by_one() {
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      queue_add(0);
      connection_.ring(0);
      connection_.end(0).await_completion();
      demand(word(0, 0) == sum_ - 1, "a fetch-and-add did not bring what was there before");
    }
    return watch.microseconds() / kRounds;
  }

  double batches() {
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    const Stopwatch watch;
    while (completed < kAdds) {
      if (posted < kAdds && posted - completed <= kDepth - kBatch) {
        for (std::uint32_t i = 0; i < kBatch; ++i, ++posted) queue_add(posted % kDepth * kWord);
        connection_.ring(0);
      }
      completed += connection_.end(0).take_completions(kDepth);
    }
    const double elapsed = watch.seconds();
    demand(word(1, kTarget) == sum_, "an add was lost, or made twice");
    return kAdds / elapsed / kMega;
  }

  double hops_and_an_add() {
    SharedLine there;
    SharedLine back;
    SharedLine sum;
    double elapsed = 0;
    host_.in_place_of_worker(
        [&] {
          for (std::uint64_t i = 1; i <= kRounds; ++i) {
            there.await(i);
            sum.word.fetch_add(1, std::memory_order_acq_rel);
            back.say(i);
          }
        },
        [&] {
          const Stopwatch watch;
          for (std::uint64_t i = 1; i <= kRounds; ++i) {
            there.say(i);
            back.await(i);
          }
          elapsed = watch.microseconds();
        });
    demand(sum.hear() == kRounds, "the floor lost an add");
    return elapsed / kRounds;
  }

  double adds_of_two_cores() {
    SharedLine sum;
    std::atomic<unsigned> ready{0};
    const auto add = [&] {
      ++ready;
      while (ready.load() < 2) {
      }
      for (std::uint64_t i = 0; i < kAdds; ++i) sum.word.fetch_add(1, std::memory_order_acq_rel);
    };
    double elapsed = 0;
    host_.in_place_of_worker(add, [&] {
      const Stopwatch watch;
      add();
      while (sum.hear() < 2 * kAdds) {
      }
      elapsed = watch.seconds();
    });
    return 2 * kAdds / elapsed / kMega;
  }

 private:
  void queue_add(std::uint64_t result_at) {
    End& end = connection_.end(0);
    const fake::FakeMr& peer = *connection_.end(1).buffer;
    const pvrdma_sge sge = end.buffer->sge(result_at, kWord);
    const bool queued = end.qp->queue_send({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                                            .remote_addr = peer.va() + kTarget,
                                            .rkey = peer.rkey,
                                            .compare_add = 1,
                                            .sges = {&sge, 1}});
    demand(queued, "the send ring is full");
    ++sum_;
  }
  std::uint64_t word(unsigned end, std::uint64_t offset) {
    auto* at = reinterpret_cast<std::uint64_t*>(connection_.end(end).buffer->at(offset));
    return std::atomic_ref(*at).load(std::memory_order_acquire);
  }

  Host& host_;
  Connection connection_;
  std::uint64_t sum_ = 0;
};

}  // namespace

Figures atomics(const Settings& settings) {
  Host host(settings.cores);
  Adder adder(host);
  Figure latency{.name = "fetch-and-add, there and back",
                 .unit = "us",
                 .floor_name = "two hops, and a lock-prefixed add between them"};
  Figure rate{.name = "fetch-and-add, batches of 32",
              .unit = "million/s",
              .floor_name = "lock-prefixed adds of both cores to one word"};
  latency.measure(
      settings.repetitions, [&] { return adder.hops_and_an_add(); },
      [&] { return adder.one_by_one(); });
  rate.measure(
      settings.repetitions, [&] { return adder.adds_of_two_cores(); },
      [&] { return adder.batches(); });
  return {std::move(latency), std::move(rate)};
}

}  // namespace paravane::bench
