// Conformance: what happens in ERR, SQD, SQE and RESET (device spec, C69-C71),
// and a process that dies (C79).

#include "test_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;

EndOptions separate_cqs() {
  EndOptions options;
  options.separate_receive_cq = true;
  return options;
}

TEST(Conformance, C69_MovingToErrFlushesBothRingsInOrder) {
  TestRig rig;
  FakeEnd a(rig.guest(0), separate_cqs());
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  // b has no receive, so the first send waits for ever and the rest behind it.
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(a.send(i, 0, 64, 0));
  for (std::uint64_t i = 100; i < 110; ++i) ASSERT_TRUE(a.receive(i));
  rig.settle();
  ASSERT_TRUE(rig.guest(0).to_state(a.qp(), kStateErr));
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value()) << i;
    EXPECT_EQ(completion->wr_id, i) << "unsignaled ones too";
    EXPECT_EQ(completion->status, +PVRDMA_WC_WR_FLUSH_ERR);
    EXPECT_LT(completion->opcode, +PVRDMA_WC_RECV);
  }
  for (std::uint64_t i = 100; i < 110; ++i) {
    const auto completion = next_completion(rig, a.receive_cq());
    ASSERT_TRUE(completion.has_value()) << i;
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, +PVRDMA_WC_WR_FLUSH_ERR);
    EXPECT_GE(completion->opcode, +PVRDMA_WC_RECV);
  }
}

TEST(Conformance, C69_PostsInErrAreFlushedAsTheyCome) {
  TestRig rig;
  FakeEnd a(rig.guest(0), separate_cqs());
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(rig.guest(0).to_state(a.qp(), kStateErr));
  for (std::uint64_t i = 0; i < 40; ++i) {
    // The drain of RDMA core: unsignaled, no SGE, RDMA WRITE.
    ASSERT_TRUE(
        a.qp().post_send({.wr_id = i, .opcode = PVRDMA_WR_RDMA_WRITE, .flags = 0, .sges = {}}));
    const auto sent = next_completion(rig, a.cq());
    ASSERT_TRUE(sent.has_value()) << i;
    EXPECT_EQ(sent->status, +PVRDMA_WC_WR_FLUSH_ERR);
    EXPECT_EQ(sent->wr_id, i);
    ASSERT_TRUE(a.qp().post_receive({.wr_id = ~i, .sges = {}}));
    const auto received = next_completion(rig, a.receive_cq());
    ASSERT_TRUE(received.has_value()) << i;
    EXPECT_EQ(received->wr_id, ~i);
  }
}

TEST(Conformance, C69_AnErrorFlushesWhatFollowsIt) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  const pvrdma_sge bad{.addr = 0, .length = 8, .lkey = 0};
  ASSERT_TRUE(a.qp().queue_send({.wr_id = 1, .flags = 0, .sges = {&bad, 1}}));
  for (std::uint64_t i = 2; i < 6; ++i) {
    ASSERT_TRUE(a.qp().queue_send({.wr_id = i, .flags = 0, .sges = {}}));
  }
  a.qp().ring(kRingSend);
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_PROT_ERR);
  for (std::uint64_t i = 2; i < 6; ++i) {
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, +PVRDMA_WC_WR_FLUSH_ERR);
  }
}

TEST(Conformance, C69_ADatagramErrorStopsTheSendQueueOnly) {
  TestRig rig;
  EndOptions options = separate_cqs();
  options.queues.type = kTypeUd;
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  ASSERT_TRUE(rig.guest(0).start_datagrams(a.qp(), 5));
  ASSERT_TRUE(rig.guest(1).start_datagrams(b.qp(), 5));
  const pvrdma_av to_b = rig.guest(0).address_vector(a.pd(), rig.guest(1).gid());
  const pvrdma_av to_a = rig.guest(1).address_vector(b.pd(), rig.guest(0).gid());
  const pvrdma_sge bad{.addr = 0, .length = 8, .lkey = 0};
  ASSERT_TRUE(a.qp().post_send(
      {.wr_id = 1, .remote_qpn = b.qp().number, .remote_qkey = 5, .av = &to_b, .sges = {&bad, 1}}));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_PROT_ERR);
  EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateSqe);
  ASSERT_TRUE(a.post({.wr_id = 2, .flags = 0, .av = &to_b, .sges = {}}, 0, 8));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_WR_FLUSH_ERR);
  ASSERT_TRUE(a.receive(3, 0, 2048));
  ASSERT_TRUE(
      b.post({.wr_id = 4, .remote_qpn = a.qp().number, .remote_qkey = 5, .av = &to_a, .sges = {}},
             0, 100));
  EXPECT_EQ(next_status(rig, a.receive_cq()), PVRDMA_WC_SUCCESS) << "receives go on";
  // The MAD layer's way back: STATE and CUR_STATE.
  QpAttributes attributes = FakeGuest::garbage_attributes();
  attributes.qp_state = kStateRts;
  attributes.cur_qp_state = kStateSqe;
  ASSERT_TRUE(rig.guest(0).modify(a.qp(), attributes, kMaskState | kMaskCurState));
  ASSERT_TRUE(b.receive(5, 0, 2048));
  ASSERT_TRUE(
      a.post({.wr_id = 6, .remote_qpn = b.qp().number, .remote_qkey = 5, .av = &to_b, .sges = {}},
             0, 100));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.receive_cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C69_RtsWithCurrentStateSqeIsTakenInRtsToo) {
  TestRig rig;
  EndOptions options;
  options.queues.type = kTypeUd;
  FakeEnd a(rig.guest(0), options);
  ASSERT_TRUE(rig.guest(0).start_datagrams(a.qp(), 5));
  QpAttributes attributes = FakeGuest::garbage_attributes();
  attributes.qp_state = kStateRts;
  attributes.cur_qp_state = kStateSqe;
  EXPECT_TRUE(rig.guest(0).modify(a.qp(), attributes, kMaskState | kMaskCurState));
}

TEST(Conformance, C70_ReceivesPostedInInitServeAfterRtr) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(rig.guest(1).to_init(b.qp()));
  ASSERT_TRUE(b.receive(1));
  rig.settle();  // the doorbell is long gone when the QP can use the receive
  ASSERT_TRUE(rig.guest(1).to_rtr(b.qp(), rig.guest(0).gid(), a.qp().number, {}));
  ASSERT_TRUE(rig.guest(0).connect(a.qp(), rig.guest(1).gid(), b.qp().number));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C70_SendsPostedInSqdRunAfterRts) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(rig.guest(0).to_state(a.qp(), kStateSqd));
  ASSERT_TRUE(a.send(2, 0, 64));
  rig.advance(milliseconds(50));
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  QpAttributes attributes = FakeGuest::garbage_attributes();
  attributes.qp_state = kStateRts;
  ASSERT_TRUE(rig.guest(0).modify(a.qp(), attributes, kMaskState));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C70_SendsPostedInRtrRunAfterRts) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(b, a));  // both connected; now a again, slowly
  ASSERT_TRUE(rig.guest(0).to_reset(a.qp()));
  ASSERT_TRUE(rig.guest(0).to_init(a.qp()));
  ASSERT_TRUE(rig.guest(0).to_rtr(a.qp(), rig.guest(1).gid(), b.qp().number, {}));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 0, 64));
  rig.settle();
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  ASSERT_TRUE(rig.guest(0).to_rts(a.qp()));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C71_AfterResetTheRingsStartAtZero) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(connect(a, b));
    for (std::uint64_t i = 0; i < 11; ++i) {
      ASSERT_TRUE(b.receive(i));
      ASSERT_TRUE(a.send(i, 0, 64));
      ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS) << round;
      ASSERT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS) << round;
    }
    ASSERT_TRUE(b.receive(90));
    ASSERT_TRUE(b.receive(91));
    rig.settle();
    ASSERT_TRUE(rig.guest(0).to_reset(a.qp()));
    ASSERT_TRUE(rig.guest(1).to_reset(b.qp()));
    rig.advance(milliseconds(5));
    for (FakeEnd* end : {&a, &b}) {
      EXPECT_EQ(end->cq().unconsumed(), 0u) << "a stray completion";
      EXPECT_EQ(end->qp().send_ring().head(), 0u) << "the device wrote after RESET";
      EXPECT_EQ(end->qp().receive_ring().head(), 0u) << "the device wrote after RESET";
    }
  }
}

TEST(Conformance, C71_ResetStopsAWaitingSend) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(a.send(1, 0, 64));  // no receive there: waits in its RNR timer
  rig.settle();
  ASSERT_TRUE(rig.guest(0).to_reset(a.qp()));
  ASSERT_TRUE(b.receive(2));
  rig.advance(std::chrono::seconds(2));
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  EXPECT_EQ(a.qp().send_ring().head(), 0u);
}

TEST(Conformance, C79_AProcessThatDiesWithWorkOutstandingLeavesNothing) {
  TestRig rig;
  for (int round = 0; round < 3; ++round) {
    FakeContext& dying = rig.guest(0).open_context();
    FakeContext& peer = rig.guest(1).open_context();
    EndOptions options;
    options.cq_entries = 4096;
    options.queues.max_send_wr = options.queues.max_recv_wr = 512;
    options.buffer_bytes = 1 << 20;
    EndOptions other = options;
    options.context = &dying;
    other.context = &peer;
    std::vector<std::unique_ptr<FakeEnd>> ends;
    std::vector<std::unique_ptr<FakeEnd>> peers;
    for (int i = 0; i < 8; ++i) {
      ends.push_back(std::make_unique<FakeEnd>(rig.guest(0), options));
      peers.push_back(std::make_unique<FakeEnd>(rig.guest(1), other));
      ASSERT_TRUE(connect(*ends.back(), *peers.back(), {.timeout = 8, .retry_count = 2}));
      for (std::uint64_t k = 0; k < 500; ++k) {
        ASSERT_TRUE(ends.back()->write(k, 0, 65536, peers.back()->buffer()));
        ASSERT_TRUE(ends.back()->receive(k));
        ASSERT_TRUE(peers.back()->send(k, 0, 4096));
      }
    }
    for (int i = 0; i < 20; ++i) rig.step();
    rig.guest(0).kill_process(dying);  // frees all its pages at once
    EXPECT_EQ(rig.device(0).objects().contexts, 0u);
    EXPECT_EQ(rig.device(0).objects().queue_pairs, 0u);
    EXPECT_EQ(rig.device(0).objects().completion_queues, 0u);
    EXPECT_EQ(rig.device(0).objects().memory_regions, 0u);
    EXPECT_EQ(rig.device(0).objects().protection_domains, 0u);
    rig.advance(std::chrono::seconds(1));
    EXPECT_TRUE(rig.machine(0).ram().intact_after_free());
    // What the peers still have to say finds nobody.
    FakeEnd& left = *peers.front();
    pvrdma_cqe completion{};
    while (left.cq().take(completion)) {
    }
    ASSERT_TRUE(left.send(1000, 0, 64));
    rig.advance(std::chrono::seconds(1));
    const std::uint32_t status = next_status(rig, left.cq());
    EXPECT_TRUE(status == PVRDMA_WC_RETRY_EXC_ERR || status == PVRDMA_WC_WR_FLUSH_ERR) << status;
    rig.guest(1).kill_process(peer);
  }
  // Everything works as before.
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

}  // namespace
}  // namespace paravane::fake
