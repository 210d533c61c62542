#include "bench/host_stream.h"

#include <algorithm>

#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

class Poster final : public GuestProgram {
 public:
  Poster(QueuesEnd& own, const fake::FakeMr& peer, const StreamSpec& spec, std::uint64_t messages)
      : own_(own), peer_(peer), spec_(spec), messages_(messages) {}

  bool ready() const override { return posted_ == 0 || own_.cq->unconsumed() > 0; }
  void step() override {
    if (posted_ == 0) return begin();
    pvrdma_cqe completion;
    while (own_.cq->take(completion)) {
      demand(completion.status == PVRDMA_WC_SUCCESS, "a message completed with an error");
      ++completed_;
      post(static_cast<std::uint32_t>(completion.wr_id));
    }
    if (completed_ < messages_) return;
    seconds_ = watch_.seconds();
    end();
  }
  double seconds() const { return seconds_; }

 private:
  void begin() {
    watch_ = {};
    for (std::uint32_t i = 0; i < spec_.outstanding; ++i) {
      for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) post(qp);
    }
  }
  void post(std::uint32_t qp) {
    if (posted_ == messages_) return;
    ++posted_;
    const pvrdma_sge sge = own_.buffer->sge(0, spec_.message);
    const bool taken =
        own_.qps[qp]->post_send({.wr_id = qp,
                                 .opcode = spec_.reads ? PVRDMA_WR_RDMA_READ : PVRDMA_WR_RDMA_WRITE,
                                 .remote_addr = peer_.va(),
                                 .rkey = peer_.rkey,
                                 .sges = {&sge, 1}});
    demand(taken, "the send ring is full");
  }

  QueuesEnd& own_;
  const fake::FakeMr& peer_;
  const StreamSpec& spec_;
  const std::uint64_t messages_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  Stopwatch watch_;
  double seconds_ = 0;
};

}  // namespace

HostStream::HostStream(HostPair& hosts, const StreamSpec& spec)
    : hosts_(hosts),
      spec_(spec),
      queues_(hosts, {.queue_pairs = spec.queue_pairs,
                      .send_requests = spec.outstanding,
                      .buffer_bytes = std::max<std::uint64_t>(spec.message, 4096)}) {
  const unsigned from = spec.reads ? 1 : 0;
  hosts.host(from).on_worker([&] { queues_.end(from).buffer->fill_pattern(spec.message); });
}

Traffic HostStream::move(std::uint64_t bytes) {
  const std::uint64_t messages = std::max<std::uint64_t>(bytes / spec_.message, 1);
  Poster poster(queues_.end(0), *queues_.end(1).buffer, spec_, messages);
  const std::array before{hosts_.host(0).cpu_seconds(), hosts_.host(1).cpu_seconds()};
  hosts_.host(0).run(&poster);
  poster.await_end();
  hosts_.host(0).run(nullptr);
  Traffic traffic{.bytes = static_cast<double>(messages * spec_.message),
                  .seconds = poster.seconds()};
  for (unsigned side = 0; side < 2; ++side) {
    traffic.cpu_seconds[side] = hosts_.host(side).cpu_seconds() - before[side];
  }
  return traffic;
}

void HostStream::check() {
  const unsigned to = spec_.reads ? 0 : 1;
  hosts_.host(to).on_worker([&] { queues_.end(to).buffer->fill(std::byte{0}); });
  move(spec_.message);
  std::array<std::vector<std::byte>, 2> bytes;
  for (unsigned side = 0; side < 2; ++side) {
    hosts_.host(side).on_worker(
        [&] { bytes[side] = queues_.end(side).buffer->load(0, spec_.message); });
  }
  demand(bytes[0] == bytes[1], "bytes at the other host differ from their source");
}

}  // namespace paravane::bench
