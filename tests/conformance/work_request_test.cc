// Conformance: what work requests look like in the rings (device spec, C57-C62
// and C68).

#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

EndOptions with_queues(std::uint32_t wr, std::uint32_t sges, bool kernel = false) {
  EndOptions options;
  options.kernel = kernel;
  options.cq_entries = 256;
  options.queues.max_send_wr = options.queues.max_recv_wr = wr;
  options.queues.max_send_sge = options.queues.max_recv_sge = sges;
  options.queues.layout = Layout::kScattered;
  return options;
}

// Sends `count` messages of `sges` pieces through both ends' rings and checks
// every byte.
void exchange(TestRig& rig, FakeEnd& a, FakeEnd& b, std::uint32_t sges, std::uint64_t count) {
  constexpr std::uint32_t kPiece = 24;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<pvrdma_sge> from;
    std::vector<pvrdma_sge> to;
    for (std::uint32_t k = 0; k < sges; ++k) {
      from.push_back(a.buffer().sge(std::uint64_t{k} * 64, kPiece));
      to.push_back(b.buffer().sge(std::uint64_t{k} * 40, kPiece));
    }
    a.buffer().fill_pattern(static_cast<std::uint32_t>(i));
    b.buffer().fill(std::byte{0});
    ASSERT_TRUE(b.qp().post_receive({.wr_id = i, .sges = to}));
    ASSERT_TRUE(a.qp().post_send({.wr_id = ~i, .sges = from}));
    const auto sent = next_completion(rig, a.cq());
    ASSERT_TRUE(sent && sent->status == PVRDMA_WC_SUCCESS && sent->wr_id == ~i);
    const auto got = next_completion(rig, b.cq());
    ASSERT_TRUE(got && got->status == PVRDMA_WC_SUCCESS && got->wr_id == i);
    ASSERT_EQ(got->byte_len, sges * kPiece);
    for (std::uint32_t k = 0; k < sges; ++k) {
      ASSERT_EQ(a.buffer().load(std::uint64_t{k} * 64, kPiece),
                b.buffer().load(std::uint64_t{k} * 40, kPiece));
    }
  }
}

TEST(Conformance, C57_StridesForEveryNumberOfSgesInAProcess) {
  TestRig rig;
  for (std::uint32_t sges = 1; sges <= rig.guest().caps().max_sge; ++sges) {
    FakeEnd a(rig.guest(0), with_queues(16, sges));
    FakeEnd b(rig.guest(1), with_queues(16, sges));
    ASSERT_TRUE(connect(a, b));
    exchange(rig, a, b, sges, 20);
    ASSERT_FALSE(HasFatalFailure()) << sges << " sges";
  }
}

TEST(Conformance, C57_StridesForEveryNumberOfSgesInTheKernel) {
  TestRig rig;
  for (std::uint32_t sges = 1; sges <= rig.guest().caps().max_sge; sges *= 2) {
    FakeEnd a(rig.guest(0), with_queues(16, sges, true));
    FakeEnd b(rig.guest(1), with_queues(16, sges, true));
    ASSERT_TRUE(connect(a, b));
    exchange(rig, a, b, sges, 20);
    ASSERT_FALSE(HasFatalFailure()) << sges << " sges";
  }
}

TEST(Conformance, C58_ReceiveRingLiesBehindTheSendPages) {
  TestRig rig;
  EndOptions uneven = with_queues(64, 3);
  uneven.queues.max_recv_wr = 8;
  uneven.queues.max_recv_sge = 1;
  FakeEnd a(rig.guest(0), uneven);
  FakeEnd b(rig.guest(1), uneven);
  ASSERT_EQ(uneven.queues.send_pages(), 2u);
  ASSERT_TRUE(connect(a, b));
  exchange(rig, a, b, 1, 100);
}

TEST(Conformance, C58_RequestsBeyondTheFirstPageTableAreFound) {
  RigOptions options;
  options.vms = 1;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakeContext& process = guest.open_context();
  FakePd& pd = guest.create_pd(process);
  FakeCq& cq = guest.create_cq(process, 1024, Layout::kScattered);
  // 16,384 receives of 128 bytes fill 512 pages; the ring begins at page 513.
  FakeQp& qp = guest.create_qp({.pd = &pd,
                                .send_cq = &cq,
                                .receive_cq = &cq,
                                .max_send_wr = 16384,
                                .max_recv_wr = 16384,
                                .max_send_sge = 3,
                                .max_recv_sge = 7,
                                .layout = Layout::kScattered});
  ASSERT_GT(qp.pages().tables.size(), 1u);
  ASSERT_TRUE(guest.to_init(qp));
  ASSERT_TRUE(guest.to_state(qp, kStateErr));
  std::uint64_t expected = 0;
  for (std::uint64_t posted = 0; posted < 20'000; posted += 500) {
    for (std::uint64_t i = 0; i < 500; ++i) {
      ASSERT_TRUE(qp.queue_receive({.wr_id = posted + i, .sges = {}}));
    }
    qp.ring(kRingReceive);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(next_completion(rig, cq)->wr_id, expected++);
  }
}

TEST(Conformance, C59_OpcodesThatMeanOtherThingsToProcessesAreRefused) {
  TestRig rig;
  for (std::uint32_t opcode = 7; opcode <= 17; ++opcode) {
    FakeEnd a(rig.guest(0));
    FakeEnd b(rig.guest(1));
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(b.receive(1));
    ASSERT_TRUE(a.post({.wr_id = opcode, .opcode = opcode, .flags = 0, .sges = {}}, 0, 8));
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value()) << opcode;
    EXPECT_EQ(completion->status, +PVRDMA_WC_LOC_QP_OP_ERR) << opcode;
    EXPECT_EQ(completion->wr_id, opcode);
    EXPECT_LT(completion->opcode, +PVRDMA_WC_RECV) << "an error of the send side";
    EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateErr) << opcode;
    EXPECT_EQ(b.cq().unconsumed(), 0u);
  }
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(a.post({.wr_id = 1, .opcode = 0xFFFFFFFF, .sges = {}}, 0, 8));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_QP_OP_ERR);
}

TEST(Conformance, C59_StaleHeaderFieldsHaveNoEffect) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    std::memset(static_cast<void*>(&a.qp().send_slot(slot)), 0xDB, 96);
    std::memset(static_cast<void*>(&b.qp().receive_slot(slot)), 0xDB, 32);
  }
  exchange(rig, a, b, 1, 20);
}

TEST(Conformance, C60_UnsignaledSuccessIsSilentAndFreesItsSlot) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(a.post({.wr_id = 1,
                        .opcode = PVRDMA_WR_RDMA_WRITE,
                        .flags = 0,
                        .remote_addr = b.buffer().va(),
                        .rkey = b.buffer().rkey,
                        .sges = {}},
                       0, 8))
        << i;
    rig.settle();
  }
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_EQ(a.qp().send_ring().head(), a.qp().send_ring().tail());
}

TEST(Conformance, C60_SignalAllCompletesEverySend) {
  TestRig rig;
  EndOptions all;
  all.queues.signal_all = true;
  FakeEnd a(rig.guest(0), all);
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(a.post({.wr_id = i,
                        .opcode = PVRDMA_WR_RDMA_WRITE,
                        .flags = 0,
                        .remote_addr = b.buffer().va(),
                        .rkey = b.buffer().rkey,
                        .sges = {}},
                       0, 8));
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion && completion->wr_id == i);
  }
}

TEST(Conformance, C61_ImmediateDataArrivesAsItStood) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.post({.wr_id = 2, .opcode = PVRDMA_WR_SEND_WITH_IMM, .imm = 0x04030201, .sges = {}},
                     0, 100));
  const auto received = next_completion(rig, b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->imm_data, 0x04030201u);
  EXPECT_EQ(received->wc_flags & PVRDMA_WC_WITH_IMM, +PVRDMA_WC_WITH_IMM);
  EXPECT_EQ(received->opcode, +PVRDMA_WC_RECV);
  EXPECT_EQ(received->byte_len, 100u);
  ASSERT_TRUE(b.receive(3));
  ASSERT_TRUE(a.send(4, 0, 10));
  const auto plain = next_completion(rig, b.cq());
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->wc_flags & PVRDMA_WC_WITH_IMM, 0u);
}

TEST(Conformance, C61_WriteWithImmediateTakesAReceive) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  a.buffer().fill_pattern(5);
  ASSERT_TRUE(b.receive(11, 8192, 16));
  ASSERT_TRUE(a.post({.wr_id = 2,
                      .opcode = PVRDMA_WR_RDMA_WRITE_WITH_IMM,
                      .imm = 0xA1B2C3D4,
                      .remote_addr = b.buffer().va() + 100,
                      .rkey = b.buffer().rkey,
                      .sges = {}},
                     0, 777));
  const auto received = next_completion(rig, b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wr_id, 11u);
  EXPECT_EQ(received->opcode, +PVRDMA_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received->byte_len, 777u);
  EXPECT_EQ(received->imm_data, 0xA1B2C3D4u);
  EXPECT_EQ(a.buffer().load(0, 777), b.buffer().load(100, 777));
  const auto sent = next_completion(rig, a.cq());
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->opcode, +PVRDMA_WC_RDMA_WRITE);
}

TEST(Conformance, C62_NoSgesAndEmptySgesWork) {
  TestRig rig;
  EndOptions options = with_queues(16, 4);
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1, 0, 0));
  ASSERT_TRUE(a.send(2, 0, 0));
  const auto empty = next_completion(rig, b.cq());
  ASSERT_TRUE(empty && empty->status == PVRDMA_WC_SUCCESS && empty->byte_len == 0);
  ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  ASSERT_TRUE(a.write(3, 0, 0, b.buffer()));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  ASSERT_TRUE(a.read(4, 0, 0, b.buffer()));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  // Empty pieces between real ones; their keys and addresses are garbage.
  const pvrdma_sge nothing{.addr = ~0ull, .length = 0, .lkey = 0xDEAD};
  const pvrdma_sge from[] = {nothing, a.buffer().sge(0, 50), nothing, a.buffer().sge(100, 50)};
  const pvrdma_sge to[] = {b.buffer().sge(0, 30), nothing, b.buffer().sge(500, 200), nothing};
  a.buffer().fill_pattern(9);
  ASSERT_TRUE(b.qp().post_receive({.wr_id = 5, .sges = to}));
  ASSERT_TRUE(a.qp().post_send({.wr_id = 6, .sges = from}));
  const auto mixed = next_completion(rig, b.cq());
  ASSERT_TRUE(mixed && mixed->status == PVRDMA_WC_SUCCESS && mixed->byte_len == 100);
  EXPECT_EQ(b.buffer().load(0, 30), a.buffer().load(0, 30));
  EXPECT_EQ(b.buffer().load(500, 20), a.buffer().load(30, 20));
  EXPECT_EQ(b.buffer().load(520, 50), a.buffer().load(100, 50));
}

TEST(Conformance, C68_TheInlineFlagChangesNothing) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  a.buffer().fill_pattern(1);
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 10, 90, kSendSignaled | kSendInline | 16));
  ASSERT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(b.buffer().load(0, 90), a.buffer().load(10, 90));
  const pvrdma_sge garbage{.addr = a.buffer().va(), .length = 8, .lkey = 0xBAD00};
  ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  ASSERT_TRUE(
      a.qp().post_send({.wr_id = 3, .flags = kSendSignaled | kSendInline, .sges = {&garbage, 1}}));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_PROT_ERR);
}

}  // namespace
}  // namespace paravane::fake
