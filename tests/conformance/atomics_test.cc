// Conformance: atomics (device spec, C75).

#include "test_rig.h"

namespace paravane::fake {
namespace {

class Atomics : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(connect(a, b)); }

  bool post(FakeEnd& end, std::uint32_t opcode, std::uint64_t offset, std::uint64_t compare_add,
            std::uint64_t swap = 0) {
    return end.post({.opcode = opcode,
                     .remote_addr = b.buffer().va() + offset,
                     .rkey = b.buffer().rkey,
                     .compare_add = compare_add,
                     .swap = swap},
                    0, 8);
  }
  static std::uint64_t word(FakeEnd& end, std::uint64_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, end.buffer().at(offset), sizeof value);
    return value;
  }

  TestRig rig;
  FakeEnd a{rig.guest(0)};
  FakeEnd b{rig.guest(1)};
};

TEST_F(Atomics, C75_AreOfferedAsTheLinuxDriverReadsThem) {
  EXPECT_EQ(rig.guest().caps().atomic_ops, 3u);
  EXPECT_GT(rig.guest().caps().max_qp_rd_atom, 0u);
}

TEST_F(Atomics, C75_TellTheOldValue) {
  b.buffer().fill(std::byte{0});
  ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_FETCH_AND_ADD, 64, 5));
  auto done = next_completion(rig, a.cq());
  ASSERT_TRUE(done && done->status == PVRDMA_WC_SUCCESS);
  EXPECT_EQ(done->opcode, std::uint32_t{PVRDMA_WC_FETCH_ADD});
  EXPECT_EQ(done->byte_len, 8u);
  EXPECT_EQ(word(a, 0), 0u);
  EXPECT_EQ(word(b, 64), 5u);

  ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_CMP_AND_SWP, 64, 5, 77));
  done = next_completion(rig, a.cq());
  ASSERT_TRUE(done && done->status == PVRDMA_WC_SUCCESS);
  EXPECT_EQ(done->opcode, std::uint32_t{PVRDMA_WC_COMP_SWAP});
  EXPECT_EQ(word(a, 0), 5u);
  EXPECT_EQ(word(b, 64), 77u);

  ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_CMP_AND_SWP, 64, 5, 99));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(word(a, 0), 77u);
  EXPECT_EQ(word(b, 64), 77u) << "not equal, not swapped";
}

TEST_F(Atomics, C75_ConcurrentAddsOfTwoQueuePairsSumUp) {
  b.buffer().fill(std::byte{0});
  FakeGuest& sender = rig.guest(0);
  FakeGuest& owner = rig.guest(1);
  FakeQp& second = sender.create_qp({.pd = &a.pd(), .send_cq = &a.cq(), .receive_cq = &a.cq()});
  FakeQp& its_peer = owner.create_qp({.pd = &b.pd(), .send_cq = &b.cq(), .receive_cq = &b.cq()});
  ASSERT_TRUE(sender.connect(second, owner.gid(), its_peer.number));
  ASSERT_TRUE(owner.connect(its_peer, sender.gid(), second.number));
  const pvrdma_sge result = a.buffer().sge(8, 8);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_FETCH_AND_ADD, 0, 1));
    ASSERT_TRUE(second.post_send({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                                  .remote_addr = b.buffer().va(),
                                  .rkey = b.buffer().rkey,
                                  .compare_add = 1,
                                  .sges = {&result, 1}}));
  }
  for (int i = 0; i < 16; ++i) EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(word(b, 0), 16u);
}

TEST_F(Atomics, C75_AddressesThatAreNotAlignedAreInvalidRequests) {
  for (const std::uint64_t offset : {1u, 2u, 4u, 7u}) {
    ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_FETCH_AND_ADD, offset, 1));
    EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_INV_REQ_ERR) << offset;
    a.renew_qp();
    b.renew_qp();
    ASSERT_TRUE(connect(a, b));
  }
}

TEST_F(Atomics, C75_NeedTheRightOfTheRegion) {
  FakeEnd plain(rig.guest(1), {.memory = {.access = kLocalWrite | kRemoteWrite | kRemoteRead}});
  FakeEnd sender(rig.guest(0));
  ASSERT_TRUE(connect(sender, plain));
  ASSERT_TRUE(sender.post({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                           .remote_addr = plain.buffer().va(),
                           .rkey = plain.buffer().rkey,
                           .compare_add = 1},
                          0, 8));
  EXPECT_EQ(next_status(rig, sender.cq()), PVRDMA_WC_REM_ACCESS_ERR);
}

TEST_F(Atomics, AreNotForPeersOfAnAdapterWithoutThem) {
  rig.device(1).set_rules({.atomics = false});
  rig.device(1).on_attach();
  b.renew_qp();
  a.renew_qp();
  ASSERT_TRUE(connect(a, b)) << "as rdma_cm asks for the right always";
  ASSERT_TRUE(post(a, PVRDMA_WR_ATOMIC_FETCH_AND_ADD, 0, 1));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_INV_REQ_ERR);
}

TEST(AtomicsTakenAway, AreNeitherOfferedNorDone) {
  RigOptions options;
  options.config.rules.atomics = false;
  TestRig rig(options);
  EXPECT_EQ(rig.guest().caps().atomic_ops, 0u);
  FakeEnd a{rig.guest(0)};
  FakeEnd b{rig.guest(1)};
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                      .remote_addr = b.buffer().va(),
                      .rkey = b.buffer().rkey,
                      .compare_add = 1},
                     0, 8));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_QP_OP_ERR);
}

TEST_F(Atomics, C75_ResultsAreOfEightBytes) {
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                      .remote_addr = b.buffer().va(),
                      .rkey = b.buffer().rkey},
                     0, 16));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_LEN_ERR);
}

}  // namespace
}  // namespace paravane::fake
