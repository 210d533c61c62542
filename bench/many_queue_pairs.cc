// How many writes of 64 bytes per second do 1,024 or 4,096 queue pairs of one process
// make, beside one? What does one make beside 15,000 that are idle?
//
// Each of the many posts one request and rings; then all over again when the
// completions are there. The one beside them posts as many, one at a time, and rings
// as often: the ratio is what their number costs. The idle ones are connected, and of
// the same process.

#include <array>
#include <vector>

#include "bench/host.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kWrites = 100 * 1024;
constexpr std::uint32_t kIdle = 15'000;
constexpr std::uint32_t kBytes = 64;
constexpr double kMega = 1e6;

class Writers {
 public:
  // Together they have `outstanding` requests outstanding.
  Writers(Host& host, std::uint32_t queue_pairs, std::uint32_t outstanding)
      : host_(host), outstanding_(outstanding) {
    for (unsigned i = 0; i < 2; ++i) {
      fake::FakeGuest& guest = host.guest(i);
      fake::FakeContext& process = guest.open_context();
      pds_[i] = &guest.create_pd(process);
      cqs_[i] = &guest.create_cq(process, 2 * outstanding);
      buffers_[i] = &guest.register_memory(*pds_[i], std::uint64_t{outstanding} * kBytes);
    }
    for (std::uint32_t n = 0; n < queue_pairs; ++n) {
      qps_.push_back(connected(outstanding / queue_pairs)[0]);
    }
    buffers_[0]->fill_pattern(kBytes);
  }

  void add_idle(std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) idle_.push_back(connected(1));
  }
  void end_idle() {
    for (const Pair& pair : idle_) {
      for (unsigned i = 0; i < 2; ++i) host_.guest(i).destroy(*pair[i]);
    }
    idle_.clear();
  }

  double write() {
    const Stopwatch watch;
    for (std::uint64_t done = 0; done < kWrites; done += outstanding_) {
      for (std::uint32_t i = 0; i < outstanding_; ++i) post(*qps_[i % qps_.size()], i);
      take_all();
    }
    return kWrites / watch.seconds() / kMega;
  }

  bool arrived() {
    return buffers_[0]->load(0, buffers_[0]->length()) ==
           buffers_[1]->load(0, buffers_[1]->length());
  }

 private:
  using Pair = std::array<fake::FakeQp*, 2>;  // one in each guest

  Pair connected(std::uint32_t depth) {
    Pair pair{};
    for (unsigned i = 0; i < 2; ++i) {
      pair[i] = &host_.guest(i).create_qp({.pd = pds_[i],
                                           .send_cq = cqs_[i],
                                           .receive_cq = cqs_[i],
                                           .max_send_wr = depth,
                                           .max_recv_wr = 1});
    }
    for (unsigned i = 0; i < 2; ++i) {
      demand(host_.guest(i).connect(*pair[i], host_.guest(1 - i).gid(), pair[1 - i]->number),
             "two queue pairs cannot be connected");
    }
    return pair;
  }
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
    for (std::uint32_t taken = 0; taken < outstanding_;) {
      if (!cqs_[0]->poll(completion)) continue;
      demand(completion.status == PVRDMA_WC_SUCCESS, "a write completed with an error");
      ++taken;
    }
  }

  Host& host_;
  std::uint32_t outstanding_;
  std::array<fake::FakePd*, 2> pds_{};
  std::array<fake::FakeCq*, 2> cqs_{};
  std::array<fake::FakeMr*, 2> buffers_{};
  std::vector<fake::FakeQp*> qps_;
  std::vector<Pair> idle_;
};

Figure beside_one(const Settings& settings, std::uint32_t queue_pairs, std::string name) {
  Host host(settings.cores);
  Writers one(host, 1, queue_pairs);
  Writers many(host, queue_pairs, queue_pairs);
  Figure figure{
      .name = std::move(name), .unit = "million/s", .floor_name = "as many by one queue pair"};
  figure.measure(settings.repetitions, [&] { return one.write(); }, [&] { return many.write(); });
  demand(one.arrived() && many.arrived(), "written bytes differ from their source");
  return figure;
}

Figure beside_idle(const Settings& settings) {
  Host host(settings.cores);
  Writers one(host, 1, 32);
  Figure figure{.name = "write 64 B, 15,000 idle queue pairs beside",
                .unit = "million/s",
                .floor_name = "the same queue pair alone"};
  figure.measure(
      settings.repetitions, [&] { return one.write(); },
      [&] {
        one.add_idle(kIdle);
        const double rate = one.write();
        one.end_idle();
        return rate;
      });
  demand(one.arrived(), "written bytes differ from their source");
  return figure;
}

}  // namespace

Figures many_queue_pairs(const Settings& settings) {
  return {beside_one(settings, 1024, "write 64 B, 1024 queue pairs"),
          beside_one(settings, 4096, "write 64 B, 4096 queue pairs"), beside_idle(settings)};
}

}  // namespace paravane::bench
