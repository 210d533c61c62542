#include "bench/there_and_back.h"

#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kBytes = 8;
// What an end sends, and where it receives.
constexpr std::uint64_t kOut = 0;
constexpr std::uint64_t kIn = 2048;

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

}  // namespace

double there_and_back(HostPair& hosts, HostQueues& queues, std::uint64_t rounds) {
  Player answers(queues.end(1), *queues.end(0).buffer, 0);
  Player asks(queues.end(0), *queues.end(1).buffer, rounds);
  hosts.host(1).run(&answers);
  hosts.host(0).run(&asks);
  asks.await_end();
  hosts.host(0).run(nullptr);
  hosts.host(1).run(nullptr);
  return asks.microseconds();
}

}  // namespace paravane::bench
