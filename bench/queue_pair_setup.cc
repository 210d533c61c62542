// How many queue pairs per second can be created and connected?
//
// Four commands each (CREATE_QP, and MODIFY_QP to INIT, RTR and RTS), through the
// device's registers and the driver's command slots. The floor makes as many
// crossings between the two cores and moves as many lines of request and
// response, with nothing on the other side.

#include <cstring>
#include <memory>
#include <vector>

#include "bench/call_slot.h"
#include "bench/connection.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kPairs = 250;
constexpr std::uint32_t kQueuePairs = 2 * kPairs;
constexpr std::uint64_t kCommands = 4 * kQueuePairs;
constexpr std::uint32_t kBytes = 64;

struct alignas(64) Slots {
  std::byte request[fake::kRequestBytes];
  alignas(64) std::byte response[fake::kResponseBytes];
};

class Setup {
 public:
  explicit Setup(Host& host) : host_(host), connection_(host, {}) {}

  double create_and_connect() {
    const std::uint64_t before = crossings();
    const Stopwatch watch;
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      qps_.push_back({&create(0), &create(1)});
      connect(0, *qps_.back()[0], *qps_.back()[1]);
      connect(1, *qps_.back()[1], *qps_.back()[0]);
    }
    const double elapsed = watch.seconds();
    crossings_per_command_ = (crossings() - before) / kCommands;
    check();
    for (const auto& pair : qps_) {
      for (unsigned end = 0; end < 2; ++end) host_.guest(end).destroy(*pair[end]);
    }
    qps_.clear();
    return kQueuePairs / elapsed;
  }

  double cross() {
    const auto slots = std::make_unique<Slots>();
    const auto call = std::make_unique<CallSlot>();
    const std::uint64_t crossings = kCommands * crossings_per_command_;
    double elapsed = 0;
    host_.in_place_of_worker(
        [&] {
          std::byte copy[fake::kRequestBytes];
          for (std::uint64_t i = 0; i < crossings; ++i) {
            while (!call->waiting()) {
            }
            call->take();
            if (i % crossings_per_command_ == 0) {
              std::memcpy(copy, slots->request, sizeof copy);
              std::memcpy(slots->response, copy, sizeof slots->response);
            }
            call->finish();
          }
        },
        [&] {
          std::byte copy[fake::kResponseBytes];
          CallSlot::Call access{.size = 4};
          const Stopwatch watch;
          for (std::uint64_t i = 0; i < crossings; ++i) {
            if (i % crossings_per_command_ == 0) {
              std::memset(slots->request, static_cast<int>(i & 0xFF), sizeof slots->request);
            }
            call->run(access);
            if (i % crossings_per_command_ == 0) {
              std::memcpy(copy, slots->response, sizeof copy);
              demand(copy[0] == std::byte(i & 0xFF), "the floor lost a line");
            }
          }
          elapsed = watch.seconds();
        });
    return kQueuePairs / elapsed;
  }

 private:
  std::uint64_t crossings() { return host_.vm(0).crossings() + host_.vm(1).crossings(); }

  fake::FakeQp& create(unsigned end) {
    const End& mine = connection_.end(end);
    return host_.guest(end).create_qp({.pd = mine.pd, .send_cq = mine.cq, .receive_cq = mine.cq});
  }
  void connect(unsigned end, fake::FakeQp& qp, const fake::FakeQp& peer) {
    demand(host_.guest(end).connect(qp, host_.guest(1 - end).gid(), peer.number),
           "two queue pairs cannot be connected");
  }
  // The last pair carries data.
  void check() {
    End& sender = connection_.end(0);
    End& target = connection_.end(1);
    sender.buffer->fill_pattern(++seed_);
    const pvrdma_sge sge = sender.buffer->sge(0, kBytes);
    const bool posted = qps_.back()[0]->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                                                   .remote_addr = target.buffer->va(),
                                                   .rkey = target.buffer->rkey,
                                                   .sges = {&sge, 1}});
    demand(posted, "the send ring is full");
    sender.await_completion();
    demand(std::memcmp(sender.buffer->at(0), target.buffer->at(0), kBytes) == 0,
           "a fresh queue pair does not carry data");
  }

  Host& host_;
  Connection connection_;
  std::vector<std::array<fake::FakeQp*, 2>> qps_;
  std::uint64_t crossings_per_command_ = 2;
  std::uint32_t seed_ = 0;
};

}  // namespace

Figures queue_pair_setup(const Settings& settings) {
  Host host(settings.cores);
  Setup setup(host);
  Figure figure{.name = "queue pair created and connected",
                .unit = "per s",
                .floor_name = "the same crossings and command lines between the same cores",
                .target = {Target::Of::kValue, Target::Sense::kAtLeast, 10'000}};
  figure.measure(
      settings.repetitions, [&] { return setup.cross(); },
      [&] { return setup.create_and_connect(); });
  return {std::move(figure)};
}

}  // namespace paravane::bench
