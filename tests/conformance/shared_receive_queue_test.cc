// Conformance: shared receive queues (device spec, C32, C33, C38, C50, C65, C72), on
// mapped doorbell pages and on trapped ones.

#include "test_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kSlot = 256;  // of the buffer, per receive

class SharedReceives : public ::testing::TestWithParam<device::DoorbellMode> {
 protected:
  static RigOptions rig_options() {
    RigOptions options;
    options.config.doorbells = GetParam();
    return options;
  }
  // A queue pair of `process` that takes from `srq`, and its peer in the other guest.
  struct Pair {
    Pair(SharedReceives& test, FakeSrq& srq)
        : end(test.guest, options(test, srq)), peer(test.other, of_peer(test)) {
      EXPECT_TRUE(connect(end, peer, kPatient));
    }
    static EndOptions options(SharedReceives& test, FakeSrq& srq) {
      EndOptions options;
      options.context = &test.process;
      options.queues.srq = &srq;
      return options;
    }
    static EndOptions of_peer(SharedReceives& test) {
      EndOptions options;
      options.context = &test.peers;
      return options;
    }
    FakeEnd end;
    FakeEnd peer;
  };
  // The RNR timer says 655 ms: what comes sooner came because it was told.
  static constexpr RcOptions kPatient{.min_rnr_timer = 0};

  bool receive(FakeSrq& srq, std::uint64_t wr_id, std::uint32_t bytes = kSlot) {
    const pvrdma_sge sge = buffer.sge(wr_id % 64 * kSlot, bytes);
    return srq.post_receive({.wr_id = wr_id, .sges = {&sge, 1}});
  }
  std::vector<AsyncEvent> events() {
    rig.settle();
    guest.handle_interrupts();
    return std::exchange(guest.async_events(), {});
  }
  using Events = std::vector<AsyncEvent>;
  bool accepts(const CreateSrq& request) {
    const auto outcome = guest.run(request);
    if (outcome.accepted()) {
      DestroySrq gone{};
      gone.handle = outcome.response.handle;
      EXPECT_TRUE(guest.run(gone).accepted());
    }
    return outcome.accepted();
  }

  TestRig rig{rig_options()};
  FakeGuest& guest = rig.guest(0);
  FakeGuest& other = rig.guest(1);
  FakeContext& process = guest.open_context();
  FakeContext& peers = other.open_context();
  FakePd& pd = guest.create_pd(process);
  FakeMr& buffer = guest.register_memory(pd, 64 * kSlot);
};

INSTANTIATE_TEST_SUITE_P(Conformance, SharedReceives,
                         ::testing::Values(device::DoorbellMode::kMapped,
                                           device::DoorbellMode::kTrapped),
                         [](const auto& mode) {
                           return mode.param == device::DoorbellMode::kMapped ? "Mapped"
                                                                              : "Trapped";
                         });

// ---- Commands ----

TEST_P(SharedReceives, C33_CreateTakesTheProvidersTwiceAsManyPages) {
  for (const std::uint32_t requests : {1u, 2u, 256u, 1024u}) {
    for (const std::uint32_t sges : {1u, 3u, 32u}) {
      const SrqSpec spec{.pd = &pd, .max_wr = requests, .max_sge = sges};
      PageSet pages = guest.ram().allocate_set(spec.pages(), Layout::kScattered);
      CreateSrq request = guest.srq_request(spec, pages);
      EXPECT_TRUE(accepts(request)) << requests << " x " << sges;
      request.nchunks = 1 + (spec.pages() - 1) / 2;
      EXPECT_TRUE(accepts(request)) << requests << " x " << sges;
      --request.nchunks;
      EXPECT_FALSE(accepts(request)) << requests << " x " << sges;
      guest.ram().release_set(pages);
    }
  }
}

TEST_P(SharedReceives, C33_CreateRefusesWhatMakesNoSense) {
  const SrqSpec spec{.pd = &pd};
  PageSet pages = guest.ram().allocate_set(spec.pages(), Layout::kContiguous);
  const CreateSrq good = guest.srq_request(spec, pages);
  const auto refused = [&](auto bend) {
    CreateSrq request = good;
    bend(request);
    return !accepts(request);
  };
  EXPECT_TRUE(accepts(good));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.max_wr = 0; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.max_wr = 12; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.max_sge = 0; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.max_sge = ~0u; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.srq_type = 1; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.nchunks = ~0u; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.nchunks = 0; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.pdir_dma = 0; }));
  EXPECT_TRUE(refused([](CreateSrq& request) { request.pd_handle = 999; }));
  // Its domain decides whose it is, and the kernel has none.
  const std::uint32_t kernel_pd = guest.create_pd(guest.kernel()).handle;
  EXPECT_TRUE(refused([&](CreateSrq& request) { request.pd_handle = kernel_pd; }));
  EXPECT_EQ(rig.device().objects().shared_receive_queues, 0u);
}

TEST_P(SharedReceives, C38_ModifySetsTheLimitAndIgnoresTheSize) {
  FakeSrq& srq = guest.create_srq({.pd = &pd, .max_wr = 16, .max_sge = 3});
  for (std::uint64_t i = 0; i < 16; ++i) ASSERT_TRUE(receive(srq, i));
  ModifySrq request{};
  request.srq_handle = srq.handle;
  request.attr_mask = kMaskSrqLimit | kMaskSrqMaxWr;
  request.srq_limit = 5;
  EXPECT_TRUE(guest.run(request).accepted());
  QuerySrq query{};
  query.handle = srq.handle;
  const auto answer = guest.run(query);
  ASSERT_TRUE(answer.accepted());
  EXPECT_EQ(answer.response.max_wr, 16u);
  EXPECT_EQ(answer.response.max_sge, 3u);
  EXPECT_EQ(answer.response.srq_limit, 5u);

  request.attr_mask = kMaskSrqMaxWr;
  request.srq_limit = 7;
  EXPECT_TRUE(guest.run(request).accepted());
  EXPECT_EQ(guest.limit_of(srq), 5u);
  EXPECT_TRUE(guest.set_limit(srq, 0));
  EXPECT_EQ(guest.limit_of(srq), 0u);
  EXPECT_TRUE(guest.set_limit(srq, 16));
  EXPECT_FALSE(guest.set_limit(srq, 17));
  EXPECT_EQ(guest.limit_of(srq), 16u);
  request.srq_handle = srq.handle + 1;
  EXPECT_TRUE(guest.run(request).refused());
  query.handle = srq.handle + 1;
  EXPECT_TRUE(guest.run(query).refused());
  EXPECT_EQ(events(), Events{});
}

TEST_P(SharedReceives, C38_AnInitialLimitIsOneUnlessItCannotBe) {
  EXPECT_EQ(guest.limit_of(guest.create_srq({.pd = &pd, .limit = 4})), 4u);
  EXPECT_EQ(guest.limit_of(guest.create_srq({.pd = &pd, .limit = 0xCCCC'CCCC})), 0u);
  EXPECT_EQ(events(), Events{}) << "before anything was posted";
}

TEST_P(SharedReceives, C32_QueuePairsNameOneOfTheirOwnContext) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  FakeContext& stranger = guest.open_context();
  FakePd& strange_pd = guest.create_pd(stranger);
  FakeSrq& strange = guest.create_srq({.pd = &strange_pd});
  FakeCq& cq = guest.create_cq(process, 16);
  QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq, .srq = &srq};
  PageSet pages = guest.ram().allocate_set(8, Layout::kContiguous);
  CreateQp request = guest.qp_request(spec, pages);
  request.total_chunks = static_cast<std::uint16_t>(1 + spec.send_pages());

  CreateQp bad = request;
  bad.srq_handle = strange.handle;
  EXPECT_TRUE(guest.run(bad).refused());
  bad.srq_handle = 999;
  EXPECT_TRUE(guest.run(bad).refused());
  bad = request;
  bad.total_chunks += 1;  // there is no receive ring
  EXPECT_TRUE(guest.run(bad).refused());
  FakePd& kernel_pd = guest.create_pd(guest.kernel());
  FakeCq& kernel_cq = guest.create_cq(guest.kernel(), 16);
  bad = request;
  bad.pd_handle = kernel_pd.handle;
  bad.send_cq_handle = bad.recv_cq_handle = kernel_cq.handle;
  EXPECT_TRUE(guest.run(bad).refused());
  bad.qp_type = kTypeGsi;
  EXPECT_TRUE(guest.run(bad).refused());
  EXPECT_EQ(rig.device().objects().queue_pairs, 0u);

  request.max_recv_wr = 3;  // means nothing
  const auto made = guest.run(request);
  ASSERT_TRUE(made.accepted());
  EXPECT_TRUE(guest.run(DestroyQp{.header = {}, .handle = made.response.words[1], .reserved = 0})
                  .accepted());
}

TEST_P(SharedReceives, C37_QueryTellsOfNoReceiveQueue) {
  Pair pair(*this, guest.create_srq({.pd = &pd}));
  EXPECT_EQ(guest.query(pair.end.qp()).cap.max_recv_wr, 0u);
  EXPECT_EQ(guest.query(pair.end.qp()).cap.max_send_wr, 16u);
}

TEST_P(SharedReceives, C24_WhatIsInUseIsNotDestroyed) {
  FakePd& own_pd = guest.create_pd(process);
  FakeSrq& srq = guest.create_srq({.pd = &own_pd});
  DestroyPd domain{};
  domain.handle = own_pd.handle;
  EXPECT_TRUE(guest.run(domain).refused());
  DestroySrq queue{};
  queue.handle = srq.handle;
  {
    Pair pair(*this, srq);
    EXPECT_TRUE(guest.run(queue).refused());
    guest.destroy(pair.end.qp());
  }
  guest.destroy(srq);
  guest.destroy(own_pd);
  EXPECT_TRUE(guest.run(queue).refused());
}

TEST_P(SharedReceives, TheyGoWithTheirContext) {
  Pair pair(*this, guest.create_srq({.pd = &pd}));
  guest.create_srq({.pd = &pd});
  EXPECT_EQ(rig.device().objects().shared_receive_queues, 2u);
  DestroyUc request{};
  request.handle = process.handle;
  ASSERT_TRUE(guest.run(request).accepted());
  EXPECT_EQ(rig.device().objects().shared_receive_queues, 0u);
  EXPECT_EQ(rig.device().objects().queue_pairs, 0u);
  ASSERT_TRUE(pair.peer.send(1, 0, 8));
  rig.advance(milliseconds(2));
}

// ---- Messages ----

TEST_P(SharedReceives, C72_CompletionsCarryTheReceivingQueuePairsHandle) {
  FakeSrq& srq = guest.create_srq({.pd = &pd, .layout = Layout::kScattered});
  Pair one(*this, srq);
  Pair two(*this, srq);
  for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(receive(srq, i));
  std::uint64_t next = 1;
  for (Pair* pair : {&one, &two, &two, &one}) {
    const auto seed = static_cast<std::uint32_t>(next);
    pair->peer.buffer().fill_pattern(seed);
    ASSERT_TRUE(pair->peer.send(90 + next, 0, 100));
    EXPECT_EQ(next_status(rig, pair->peer.cq()), PVRDMA_WC_SUCCESS);
    const auto completion = next_completion(rig, pair->end.cq());
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->status, PVRDMA_WC_SUCCESS);
    EXPECT_EQ(completion->qp, pair->end.qp().handle);
    EXPECT_EQ(completion->wr_id, next);
    EXPECT_EQ(completion->byte_len, 100u);
    EXPECT_EQ(*buffer.at(next % 64 * kSlot + 99), FakeMr::pattern(seed, 99));
    ++next;
  }
  EXPECT_EQ(srq.receive_ring().head(), 4u);
}

TEST_P(SharedReceives, SmallRingsWrap) {
  for (const std::uint32_t depth : {1u, 4u}) {
    FakeSrq& srq = guest.create_srq({.pd = &pd, .max_wr = depth});
    Pair pair(*this, srq);
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(receive(srq, i));
      ASSERT_TRUE(pair.peer.send(i, 0, 10));
      const auto completion = next_completion(rig, pair.end.cq());
      ASSERT_TRUE(completion) << i;
      EXPECT_EQ(completion->wr_id, i);
      EXPECT_EQ(next_status(rig, pair.peer.cq()), PVRDMA_WC_SUCCESS);
    }
  }
}

TEST_P(SharedReceives, DatagramsTakeFromThemToo) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  EndOptions options = Pair::options(*this, srq);
  options.queues.type = kTypeUd;
  FakeEnd end(guest, options);
  EndOptions of_peer;
  of_peer.queues.type = kTypeUd;
  FakeEnd peer(other, of_peer);
  ASSERT_TRUE(guest.start_datagrams(end.qp(), 7));
  ASSERT_TRUE(other.start_datagrams(peer.qp(), 7));
  ASSERT_TRUE(receive(srq, 5));
  const pvrdma_av av = other.address_vector(peer.pd(), guest.gid());
  for (int i = 0; i < 2; ++i) {  // for the second one there is no receive
    ASSERT_TRUE(peer.post(
        {.opcode = PVRDMA_WR_SEND, .remote_qpn = end.qp().number, .remote_qkey = 7, .av = &av}, 0,
        64));
    EXPECT_EQ(next_status(rig, peer.cq()), PVRDMA_WC_SUCCESS);
  }
  const auto completion = next_completion(rig, end.cq());
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->wr_id, 5u);
  EXPECT_EQ(completion->byte_len, 104u);
  EXPECT_FALSE(next_completion(rig, end.cq()));
}

TEST_P(SharedReceives, C63_KeysAreJudgedInTheSharedQueuesDomain) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair pair(*this, srq);
  ASSERT_NE(pair.end.pd().handle, pd.handle);
  ASSERT_TRUE(receive(srq, 1));
  const pvrdma_sge of_queue_pair = pair.end.buffer().sge(0, 64);
  ASSERT_TRUE(srq.post_receive({.wr_id = 2, .sges = {&of_queue_pair, 1}}));
  ASSERT_TRUE(pair.peer.send(1, 0, 64));
  EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_SUCCESS);
  ASSERT_TRUE(pair.peer.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_LOC_PROT_ERR);
}

TEST_P(SharedReceives, CVE_2018_20124_TooManySgesAreAFaultOfThatReceive) {
  FakeSrq& srq = guest.create_srq({.pd = &pd, .max_sge = 2});
  Pair pair(*this, srq);
  ASSERT_TRUE(receive(srq, 1));
  srq.receive_slot(0).num_sge = 3;
  ASSERT_TRUE(pair.peer.send(1, 0, 8));
  EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_LOC_QP_OP_ERR);
}

// ---- Waiting for receives ----

TEST_P(SharedReceives, C65_AReceiveWakesAPeerThatWaits) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair one(*this, srq);
  Pair two(*this, srq);
  ASSERT_TRUE(one.peer.send(1, 0, 8));
  rig.settle();
  ASSERT_TRUE(two.peer.send(2, 0, 8));
  rig.settle();
  // Who came first is first, and one receive is for one of them.
  ASSERT_TRUE(receive(srq, 1));
  EXPECT_EQ(next_status(rig, one.end.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, two.end.cq()), kNoCompletion);
  ASSERT_TRUE(receive(srq, 2));
  EXPECT_EQ(next_status(rig, two.end.cq()), PVRDMA_WC_SUCCESS);
}

TEST_P(SharedReceives, C65_OneDoorbellIsEnoughForAllThatWait) {
  constexpr std::uint32_t kMany = 100;  // more than are woken at once
  FakeSrq& srq = guest.create_srq({.pd = &pd, .max_wr = 128});
  std::vector<std::unique_ptr<Pair>> pairs;
  for (std::uint32_t i = 0; i < kMany; ++i) pairs.push_back(std::make_unique<Pair>(*this, srq));
  for (auto& pair : pairs) ASSERT_TRUE(pair->peer.send(1, 0, 8));
  rig.settle();
  const pvrdma_sge sge = buffer.sge(0, 64);
  for (std::uint32_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(srq.queue_receive({.wr_id = i, .sges = {&sge, 1}}));
  }
  srq.ring();
  rig.settle();
  std::uint32_t served = 0;
  for (auto& pair : pairs) {
    pvrdma_cqe completion{};
    served += pair->end.cq().take(completion) ? 1u : 0u;
  }
  EXPECT_EQ(served, kMany);
}

TEST_P(SharedReceives, C65_AWordThatWasOverwrittenLosesNothing) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  FakeSrq& last = guest.create_srq({.pd = &pd});
  Pair pair(*this, srq);
  ASSERT_TRUE(pair.peer.send(1, 0, 8));
  rig.settle();
  ASSERT_TRUE(receive(srq, 1));
  ASSERT_TRUE(receive(last, 1));  // on a mapped page its word is all that we see
  EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_SUCCESS);
}

TEST_P(SharedReceives, AQueuePairThatGoesLeavesTheLine) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair gone(*this, srq);
  Pair other_pair(*this, srq);
  ASSERT_TRUE(gone.peer.send(1, 0, 8));
  ASSERT_TRUE(other_pair.peer.send(1, 0, 8));
  rig.settle();
  guest.destroy(gone.end.qp());
  ASSERT_TRUE(receive(srq, 1));
  EXPECT_EQ(next_status(rig, other_pair.end.cq()), PVRDMA_WC_SUCCESS);
}

TEST_P(SharedReceives, C50_ForeignDoorbellsAreCounted) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair pair(*this, srq);
  ASSERT_TRUE(pair.peer.send(1, 0, 8));
  rig.settle();
  const pvrdma_sge sge = buffer.sge(0, 64);
  ASSERT_TRUE(srq.queue_receive({.wr_id = 1, .sges = {&sge, 1}}));
  FakeContext& stranger = guest.open_context();
  const std::uint64_t before = rig.device().counters().foreign_doorbells.value();
  stranger.uar.ring(kDoorbellSrq, srq.handle | kRingSharedReceive);
  rig.settle();
  guest.kernel().uar.ring(kDoorbellSrq, srq.handle | kRingSharedReceive);
  process.uar.ring(kDoorbellSrq, 0xFFFFFF | kRingSharedReceive);
  rig.settle();
  EXPECT_EQ(rig.device().counters().foreign_doorbells.value(), before + 3);
}

// ---- Events ----

TEST_P(SharedReceives, C72_OneLimitEventPerArm) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair pair(*this, srq);
  const Events reached{{kEventSrqLimitReached, srq.handle}};
  const auto send = [&] {
    ASSERT_TRUE(pair.peer.send(1, 0, 8));
    EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_SUCCESS);
  };
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(receive(srq, i));
  ASSERT_TRUE(guest.set_limit(srq, 7));
  EXPECT_EQ(events(), Events{});
  send();
  EXPECT_EQ(events(), Events{}) << "seven are left: not below";
  send();
  EXPECT_EQ(events(), reached);
  EXPECT_EQ(guest.limit_of(srq), 0u);
  send();
  EXPECT_EQ(events(), Events{}) << "once";
  ASSERT_TRUE(guest.set_limit(srq, 5));
  EXPECT_EQ(events(), Events{});
  send();
  EXPECT_EQ(events(), reached);
  ASSERT_TRUE(guest.set_limit(srq, 4));
  ASSERT_TRUE(guest.set_limit(srq, 0));
  send();
  EXPECT_EQ(events(), Events{}) << "disarmed";
}

TEST_P(SharedReceives, C72_ALimitThatIsReachedAlreadyIsToldAtOnce) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  ASSERT_TRUE(receive(srq, 1));
  ASSERT_TRUE(guest.set_limit(srq, 2));
  EXPECT_EQ(events(), (Events{{kEventSrqLimitReached, srq.handle}}));
  EXPECT_EQ(guest.limit_of(srq), 0u);
}

TEST_P(SharedReceives, C72_TheLimitCountsWhatIsPostedWithoutADoorbell) {
  FakeSrq& srq = guest.create_srq({.pd = &pd, .limit = 2});
  Pair pair(*this, srq);
  const pvrdma_sge sge = buffer.sge(0, 64);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(srq.queue_receive({.wr_id = 1, .sges = {&sge, 1}}));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair.peer.send(1, 0, 8));
    EXPECT_EQ(next_status(rig, pair.end.cq()), PVRDMA_WC_SUCCESS);
    ASSERT_TRUE(srq.queue_receive({.wr_id = 1, .sges = {&sge, 1}}));
  }
  EXPECT_EQ(events(), Events{});
}

TEST_P(SharedReceives, C72_LastReceiveReachedOnceAndTheOthersGoOn) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair failing(*this, srq);
  Pair other_pair(*this, srq);
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(receive(srq, i));
  const Events last{{kEventLastWqeReached, failing.end.qp().handle}};
  ASSERT_TRUE(guest.to_state(failing.end.qp(), kStateErr));
  EXPECT_EQ(events(), last);
  EXPECT_EQ(failing.end.cq().unconsumed(), 0u) << "shared receives are not flushed";
  EXPECT_EQ(srq.receive_ring().head(), 0u);
  ASSERT_TRUE(guest.to_state(failing.end.qp(), kStateErr));
  failing.end.qp().ring(kRingSend | kRingReceive);
  EXPECT_EQ(events(), Events{}) << "once";

  ASSERT_TRUE(other_pair.peer.send(1, 0, 8));
  const auto completion = next_completion(rig, other_pair.end.cq());
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->wr_id, 1u);

  ASSERT_TRUE(guest.to_reset(failing.end.qp()));
  ASSERT_TRUE(guest.to_init(failing.end.qp()));
  EXPECT_EQ(events(), Events{});
  ASSERT_TRUE(guest.to_state(failing.end.qp(), kStateErr));
  EXPECT_EQ(events(), last) << "once more for another life";
}

TEST_P(SharedReceives, C72_AReceiveInHandIsFlushedBeforeTheLastOne) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  Pair pair(*this, srq);
  ASSERT_TRUE(receive(srq, 1));
  ASSERT_TRUE(receive(srq, 2));
  // It takes a receive, then its key is found to be bad.
  ASSERT_TRUE(pair.peer.post({.wr_id = 9,
                              .opcode = PVRDMA_WR_RDMA_WRITE_WITH_IMM,
                              .remote_addr = pair.end.buffer().va(),
                              .rkey = pair.end.buffer().rkey ^ 0xFF00},
                             0, 8));
  EXPECT_EQ(next_status(rig, pair.peer.cq()), PVRDMA_WC_REM_ACCESS_ERR);
  const auto completion = next_completion(rig, pair.end.cq());
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->wr_id, 1u);
  EXPECT_EQ(completion->status, PVRDMA_WC_WR_FLUSH_ERR);
  EXPECT_EQ(events(), (Events{{kEventQpAccessError, pair.end.qp().handle},
                              {kEventLastWqeReached, pair.end.qp().handle}}));
  EXPECT_EQ(srq.receive_ring().head(), 1u);
}

TEST_P(SharedReceives, C49_ABrokenRingIsToldOnceAndHarmsNobodyElse) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  FakeSrq& sound = guest.create_srq({.pd = &pd});
  Pair one(*this, srq);
  Pair two(*this, srq);
  Pair apart(*this, sound);
  srq.receive_ring().set_tail(17);
  srq.ring();
  EXPECT_EQ(events(), (Events{{kEventSrqError, srq.handle}}));
  EXPECT_EQ(rig.device().counters().broken_rings.value(), 1u);
  for (Pair* pair : {&one, &two}) {
    ASSERT_TRUE(pair->peer.send(1, 0, 8));
    EXPECT_EQ(next_status(rig, pair->peer.cq()), PVRDMA_WC_REM_OP_ERR);
    EXPECT_EQ(events(), (Events{{kEventQpFatal, pair->end.qp().handle},
                                {kEventLastWqeReached, pair->end.qp().handle}}));
  }
  srq.ring();
  EXPECT_EQ(events(), Events{});
  EXPECT_EQ(rig.device().counters().broken_rings.value(), 1u);
  ASSERT_TRUE(receive(sound, 1));
  ASSERT_TRUE(apart.peer.send(1, 0, 8));
  EXPECT_EQ(next_status(rig, apart.end.cq()), PVRDMA_WC_SUCCESS);
}

TEST_P(SharedReceives, C39_NothingIsToldOfADestroyedQueue) {
  FakeSrq& srq = guest.create_srq({.pd = &pd});
  // The guest does not look: 512 events fit, what comes after them waits.
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(guest.set_limit(srq, 1));
  guest.destroy(srq);
  std::uint32_t told = 0;
  while (guest.take_async_event()) ++told;
  rig.advance(milliseconds(10));
  while (guest.take_async_event()) ++told;
  EXPECT_EQ(told, 512u);
}

}  // namespace
}  // namespace paravane::fake
