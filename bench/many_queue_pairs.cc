// How many writes of 64 bytes per second do 1,024 queue pairs of one process make,
// beside one?
//
// Each of the 1,024 posts one request and rings; then all over again when the
// completions are there. The one beside them posts as many, one at a time, and rings
// as often: the ratio is what their number costs.

#include <array>
#include <vector>

#include "bench/host.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kQueuePairs = 1024;
constexpr std::uint32_t kOutstanding = 1024;
constexpr std::uint64_t kWrites = 100 * kOutstanding;
constexpr std::uint32_t kBytes = 64;
constexpr double kMega = 1e6;

class Writers {
 public:
  Writers(Host& host, std::uint32_t queue_pairs) {
    std::array<fake::FakePd*, 2> pds{};
    std::array<fake::FakeCq*, 2> cqs{};
    for (unsigned i = 0; i < 2; ++i) {
      fake::FakeGuest& guest = host.guest(i);
      fake::FakeContext& process = guest.open_context();
      pds[i] = &guest.create_pd(process);
      cqs[i] = &guest.create_cq(process, 2 * kOutstanding);
      buffers_[i] = &guest.register_memory(*pds[i], std::uint64_t{kOutstanding} * kBytes);
    }
    done_ = cqs[0];
    const std::uint32_t depth = kOutstanding / queue_pairs;
    for (std::uint32_t n = 0; n < queue_pairs; ++n) {
      std::array<fake::FakeQp*, 2> pair{};
      for (unsigned i = 0; i < 2; ++i) {
        pair[i] = &host.guest(i).create_qp({.pd = pds[i],
                                            .send_cq = cqs[i],
                                            .receive_cq = cqs[i],
                                            .max_send_wr = depth,
                                            .max_recv_wr = 1});
      }
      for (unsigned i = 0; i < 2; ++i) {
        demand(host.guest(i).connect(*pair[i], host.guest(1 - i).gid(), pair[1 - i]->number),
               "two queue pairs cannot be connected");
      }
      qps_.push_back(pair[0]);
    }
    buffers_[0]->fill_pattern(kBytes);
  }

  double write() {
    const Stopwatch watch;
    for (std::uint64_t done = 0; done < kWrites; done += kOutstanding) {
      for (std::uint32_t i = 0; i < kOutstanding; ++i) post(*qps_[i % qps_.size()], i);
      take_all();
    }
    return kWrites / watch.seconds() / kMega;
  }

  bool arrived() {
    return buffers_[0]->load(0, buffers_[0]->length()) ==
           buffers_[1]->load(0, buffers_[1]->length());
  }

 private:
  void post(fake::FakeQp& qp, std::uint32_t place) {
    const std::uint64_t offset = std::uint64_t{place} * kBytes;
    const pvrdma_sge sge = buffers_[0]->sge(offset, kBytes);
    const bool posted = qp.post_send({.wr_id = place,
                                      .opcode = PVRDMA_WR_RDMA_WRITE,
                                      .remote_addr = buffers_[1]->va() + offset,
                                      .rkey = buffers_[1]->rkey,
                                      .sges = {&sge, 1}});
    demand(posted, "a send ring is full");
  }
  void take_all() {
    pvrdma_cqe completion;
    for (std::uint32_t taken = 0; taken < kOutstanding;) {
      if (!done_->poll(completion)) continue;
      demand(completion.status == PVRDMA_WC_SUCCESS, "a write completed with an error");
      ++taken;
    }
  }

  std::array<fake::FakeMr*, 2> buffers_{};
  fake::FakeCq* done_ = nullptr;
  std::vector<fake::FakeQp*> qps_;
};

}  // namespace

Figures many_queue_pairs(const Settings& settings) {
  Host host(settings.cores);
  Writers one(host, 1);
  Writers many(host, kQueuePairs);
  Figure figure{.name = "write 64 B, 1024 queue pairs",
                .unit = "million/s",
                .floor_name = "as many by one queue pair"};
  figure.measure(settings.repetitions, [&] { return one.write(); }, [&] { return many.write(); });
  demand(one.arrived() && many.arrived(), "written bytes differ from their source");
  return {std::move(figure)};
}

}  // namespace paravane::bench
