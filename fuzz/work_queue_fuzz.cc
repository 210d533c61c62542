// Work queues: requests with some of their words replaced, impossible ring
// indices, requests that change before they are read, states that move under
// them.

#include <spdlog/spdlog.h>

#include <array>

#include "hostile_vm.h"
#include "work_queue_script.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kKey = 0x4711;

class WorkQueueFuzz {
 public:
  WorkQueueFuzz()
      : process_(vm_.guest().open_context()),
        shared_pd_(vm_.guest().create_pd(process_)),
        shared_buffer_(vm_.guest().register_memory(shared_pd_, 9000)),
        srq_(vm_.guest().create_srq(
            {.pd = &shared_pd_, .max_sge = 2, .limit = 2, .layout = Layout::kScattered})),
        ends_{FakeEnd(vm_.guest(), options(kTypeRc, false)),
              FakeEnd(vm_.guest(), options(kTypeRc, false)),
              FakeEnd(vm_.guest(), options(kTypeUd, false)),
              FakeEnd(vm_.guest(), options(kTypeGsi, true)),
              FakeEnd(vm_.guest(), joining(&srq_)),
              FakeEnd(vm_.guest(), joining(&srq_)),
              FakeEnd(vm_.guest(), joining(nullptr)),
              FakeEnd(vm_.guest(), joining(nullptr))} {
    prepare();
  }

  void run(FuzzBytes input) {
    for (int acts = 0; acts < 200 && !input.at_end(); ++acts) act(input);
    vm_.finish();
  }

 private:
  static EndOptions options(std::uint8_t type, bool kernel) {
    EndOptions options;
    options.kernel = kernel;
    options.cq_entries = 32;
    options.queues.type = type;
    options.queues.max_send_sge = 3;
    options.queues.max_recv_sge = 2;
    options.queues.layout = Layout::kScattered;
    return options;
  }

  // All in one process: its pages are what takes time.
  EndOptions joining(FakeSrq* srq) {
    EndOptions joining = options(kTypeRc, false);
    joining.context = &process_;
    joining.queues.srq = srq;
    return joining;
  }

  void prepare() {
    connect(ends_[0], ends_[1], {.rnr_retry = 1});
    connect(ends_[4], ends_[6], {.rnr_retry = 3});
    connect(ends_[5], ends_[7]);
    vm_.guest().start_datagrams(ends_[2].qp(), kKey);
    vm_.guest().start_datagrams(ends_[3].qp(), kKey);
  }

  void act(FuzzBytes& input) {
    const auto what =
        static_cast<WorkAct>(input.below(static_cast<std::uint32_t>(WorkAct::kCount)));
    FakeEnd& end = ends_[input.below(kEnds)];
    switch (what) {
      case WorkAct::kSend: send(end, input); return;
      case WorkAct::kReceive: receive(end, input); return;
      case WorkAct::kIndex: set_index(end, input); return;
      case WorkAct::kRing: end.qp().ring(std::uint32_t{input.u8()} << 24); return;
      case WorkAct::kTime: vm_.pass(input.u16() % 5000u); return;
      case WorkAct::kScribble: scribble(end, input); return;
      case WorkAct::kConsume: consume(end, input); return;
      case WorkAct::kMove: move(end, input); return;
      case WorkAct::kShared: share(input); return;
      case WorkAct::kSharedIndex: set_shared_index(input); return;
      case WorkAct::kLimit: vm_.guest().set_limit(srq_, input.u8() % 20u); return;
      case WorkAct::kCount: return;
    }
  }

  template <typename Header>
  static void bend(Header& slot, std::uint32_t bytes, FuzzBytes& input) {
    const std::uint32_t words = input.below(4);
    for (std::uint32_t i = 0; i < words; ++i) {
      const std::uint32_t at = input.below(bytes / 4) * 4;
      const std::uint32_t value = hostile_number(input);
      std::memcpy(reinterpret_cast<std::byte*>(&slot) + at, &value, sizeof value);
    }
  }

  void send(FakeEnd& end, FuzzBytes& input) {
    const auto self = static_cast<std::size_t>(&end - ends_.data());
    FakeEnd& peer = ends_[kPeers[self]];
    const pvrdma_av av = vm_.guest().address_vector(end.pd(), vm_.guest().gid());
    const std::uint32_t bytes = input.u16() % 9000u;
    const pvrdma_sge sges[] = {end.buffer().sge(0, bytes), end.buffer().sge(100, bytes / 4)};
    const bool datagram = end.qp().spec().type != kTypeRc;
    const std::uint32_t slot = end.qp().send_ring().tail() & (end.qp().spec().max_send_wr - 1);
    const bool queued = end.qp().queue_send({.wr_id = slot,
                                             .opcode = input.below(7),
                                             .flags = input.u8(),
                                             .imm = 7,
                                             .remote_addr = peer.buffer().va(),
                                             .rkey = peer.buffer().rkey,
                                             .remote_qpn = ends_[input.below(kEnds)].qp().number,
                                             .remote_qkey = kKey,
                                             .av = datagram ? &av : nullptr,
                                             .sges = std::span(sges).first(input.below(3))});
    bend(end.qp().send_slot(slot), end.qp().spec().send_stride(), input);
    if (queued && (input.u8() & 1) == 0) end.qp().ring(kRingSend);
  }

  void receive(FakeEnd& end, FuzzBytes& input) {
    const pvrdma_sge sges[] = {end.buffer().sge(0, input.u16() % 5000u),
                               end.buffer().sge(6000, 3000)};
    if (end.qp().spec().srq != nullptr) return share(input);
    const std::uint32_t slot = end.qp().receive_ring().tail() & (end.qp().spec().max_recv_wr - 1);
    const bool queued =
        end.qp().queue_receive({.wr_id = slot, .sges = std::span(sges).first(input.below(3))});
    bend(end.qp().receive_slot(slot), end.qp().spec().receive_stride(), input);
    if (queued && (input.u8() & 1) == 0) end.qp().ring(kRingReceive);
  }

  void share(FuzzBytes& input) {
    const pvrdma_sge sges[] = {shared_buffer_.sge(0, input.u16() % 5000u),
                               shared_buffer_.sge(6000, 3000)};
    const std::uint32_t slot = srq_.receive_ring().tail() & (srq_.spec().max_wr - 1);
    const bool queued =
        srq_.queue_receive({.wr_id = slot, .sges = std::span(sges).first(input.below(3))});
    bend(srq_.receive_slot(slot), srq_.spec().stride(), input);
    if (queued && (input.u8() & 1) == 0) srq_.ring();
  }

  void set_shared_index(FuzzBytes& input) {
    const std::uint32_t value = hostile_number(input);
    DriverRing& ring = srq_.receive_ring();
    (input.u8() & 1) != 0 ? ring.set_tail(value) : ring.set_head(value);
  }

  void set_index(FakeEnd& end, FuzzBytes& input) {
    DriverRing rings[] = {end.qp().send_ring(), end.qp().receive_ring(), end.cq().ring(),
                          vm_.guest().notification_ring(), vm_.guest().async_ring()};
    DriverRing& ring = rings[input.below(5)];
    const std::uint32_t value = hostile_number(input);
    (input.u8() & 1) != 0 ? ring.set_tail(value) : ring.set_head(value);
  }

  void scribble(FakeEnd& end, FuzzBytes& input) {
    const auto& pages = end.qp().pages().pages;
    const std::uint64_t page = pages[input.below(static_cast<std::uint32_t>(pages.size()))];
    const std::uint32_t at = input.u16() % (kPage / 4) * 4;
    vm_.machine().ram().as<std::uint32_t>(page + at) = hostile_number(input);
  }

  void consume(FakeEnd& end, FuzzBytes& input) {
    pvrdma_cqe completion{};
    for (std::uint32_t left = input.below(32); left > 0 && end.cq().poll(completion); --left) {
    }
    if ((input.u8() & 1) != 0) end.cq().arm((input.u8() & 1) != 0);
  }

  void move(FakeEnd& end, FuzzBytes& input) {
    const std::uint32_t state = input.below(8);
    if (state == kStateReset || state == 7) {
      vm_.guest().to_reset(end.qp());
      prepare();
    } else {
      vm_.guest().to_state(end.qp(), state);
    }
  }

  static constexpr std::uint32_t kEnds = 8;
  static constexpr std::array<std::size_t, kEnds> kPeers{1, 0, 0, 0, 6, 7, 4, 5};

  HostileVm vm_;
  FakeContext& process_;
  FakePd& shared_pd_;
  FakeMr& shared_buffer_;
  FakeSrq& srq_;
  std::array<FakeEnd, kEnds> ends_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::WorkQueueFuzz fuzz;
  fuzz.run(paravane::fake::FuzzBytes(data, size));
  return 0;
}
