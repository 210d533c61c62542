// Conformance: keys, ranges, rights, lengths and receivers that are not ready
// (device spec, C63-C65, C76).

#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;

class Protection : public ::testing::Test {
 protected:
  TestRig rig;
  FakeContext& process_a = rig.guest(0).open_context();
  FakeContext& process_b = rig.guest(1).open_context();

  EndOptions in(FakeContext& context, std::uint32_t access = kAllAccess) {
    EndOptions options;
    options.context = &context;
    options.memory.access = access;
    options.memory.page_offset = 512;  // its first and last page are not all its own
    return options;
  }

  // A send whose one SGE is `bad`.
  void expect_local_error(FakeEnd& a, FakeEnd& b, const pvrdma_sge& bad, const char* what) {
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(b.receive(1));
    ASSERT_TRUE(a.qp().post_send({.wr_id = 5, .flags = 0, .sges = {&bad, 1}}));
    EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_PROT_ERR) << what;
    EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateErr) << what;
    EXPECT_EQ(b.cq().unconsumed(), 0u) << what;
  }
  void expect_remote_error(const SendWr& wr, std::uint32_t qp_access, const char* what) {
    FakeEnd a(rig.guest(0), in(process_a));
    FakeEnd b(rig.guest(1), in(process_b));
    ASSERT_TRUE(connect(a, b, {.access = qp_access}));
    ASSERT_TRUE(b.receive(1));
    ASSERT_TRUE(a.post(wr, 0, 64));
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value()) << what;
    EXPECT_EQ(completion->status, +PVRDMA_WC_REM_ACCESS_ERR) << what;
    EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateErr) << what;
  }
  static SendWr rdma(std::uint32_t opcode, std::uint64_t addr, std::uint32_t rkey) {
    return {.wr_id = 9, .opcode = opcode, .remote_addr = addr, .rkey = rkey, .sges = {}};
  }
};

TEST_F(Protection, C63_BadLocalKeysRangesAndRights) {
  FakeEnd other(rig.guest(0), in(process_a));  // another protection domain
  const auto try_sge = [&](const char* what, auto bend) {
    FakeEnd a(rig.guest(0), in(process_a));
    FakeEnd b(rig.guest(1), in(process_b));
    pvrdma_sge sge = a.buffer().sge(0, 64);
    bend(sge, a);
    expect_local_error(a, b, sge, what);
  };
  try_sge("no such key", [](pvrdma_sge& s, FakeEnd&) { s.lkey ^= 0x00ABCD00; });
  try_sge("key 0", [](pvrdma_sge& s, FakeEnd&) { s.lkey = 0; });
  try_sge("stale low byte", [](pvrdma_sge& s, FakeEnd&) { s.lkey ^= 0x01; });
  try_sge("another domain", [&](pvrdma_sge& s, FakeEnd&) { s = other.buffer().sge(0, 64); });
  try_sge("before it", [](pvrdma_sge& s, FakeEnd&) { s.addr -= 1; });
  try_sge("past its end", [](pvrdma_sge& s, FakeEnd& a) { s.addr += a.buffer().length() - 63; });
  try_sge("wraps", [](pvrdma_sge& s, FakeEnd&) { s.addr = ~0ull - 10; });
  try_sge("too long", [](pvrdma_sge& s, FakeEnd&) { s.length = 16385; });
}

TEST_F(Protection, C63_ReadingIntoMemoryThatMayNotBeWritten) {
  FakeEnd a(rig.guest(0), in(process_a, kRemoteRead));
  FakeEnd b(rig.guest(1), in(process_b));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(a.read(1, 0, 64, b.buffer()));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_LOC_PROT_ERR);
  EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateErr);
}

TEST_F(Protection, C63_ReceivingIntoMemoryThatMayNotBeWritten) {
  FakeEnd a(rig.guest(0), in(process_a));
  FakeEnd b(rig.guest(1), in(process_b, kRemoteRead));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1, 0, 64));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_LOC_PROT_ERR);
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_OP_ERR);
  EXPECT_EQ(rig.guest(1).query(b.qp()).qp_state, +kStateErr);
}

TEST_F(Protection, C63_BadRemoteKeysRangesAndRights) {
  FakePd& pd = rig.guest(1).create_pd(process_b);
  FakeMr& foreign = rig.guest(1).register_memory(pd, 4096);
  const auto all = kAllAccess;
  expect_remote_error(rdma(PVRDMA_WR_RDMA_WRITE, foreign.va(), foreign.rkey), all,
                      "another domain");
  expect_remote_error(rdma(PVRDMA_WR_RDMA_READ, foreign.va(), foreign.rkey), all,
                      "another domain, read");
  expect_remote_error(rdma(PVRDMA_WR_RDMA_WRITE, 0, 0), all, "key 0");
  expect_remote_error(rdma(PVRDMA_WR_RDMA_WRITE_WITH_IMM, 0, 0x12345600), all, "no such key");
}

TEST_F(Protection, C63_RemoteRangeAndRightsOfTheRegionAndTheQueuePair) {
  struct Case {
    std::uint32_t memory_access;
    std::uint32_t qp_access;
    std::uint32_t opcode;
    std::int64_t shift;
    std::uint32_t status;
  };
  const std::uint32_t write = PVRDMA_WR_RDMA_WRITE;
  const std::uint32_t read = PVRDMA_WR_RDMA_READ;
  const std::vector<Case> cases{
      {kAllAccess, kAllAccess, write, 0, PVRDMA_WC_SUCCESS},
      {kAllAccess, kAllAccess, read, 0, PVRDMA_WC_SUCCESS},
      {kAllAccess, kAllAccess, write, 16384 - 64, PVRDMA_WC_SUCCESS},
      {kAllAccess, kAllAccess, write, 16384 - 63, PVRDMA_WC_REM_ACCESS_ERR},
      {kAllAccess, kAllAccess, read, -1, PVRDMA_WC_REM_ACCESS_ERR},
      {kLocalWrite | kRemoteRead, kAllAccess, write, 0, PVRDMA_WC_REM_ACCESS_ERR},
      {kLocalWrite | kRemoteWrite, kAllAccess, read, 0, PVRDMA_WC_REM_ACCESS_ERR},
      {kLocalWrite, kAllAccess, read, 0, PVRDMA_WC_REM_ACCESS_ERR},
      {kAllAccess, kLocalWrite | kRemoteRead, write, 0, PVRDMA_WC_REM_INV_REQ_ERR},
      {kAllAccess, kLocalWrite | kRemoteWrite, read, 0, PVRDMA_WC_REM_INV_REQ_ERR},
  };
  for (const Case& c : cases) {
    FakeEnd a(rig.guest(0), in(process_a));
    FakeEnd b(rig.guest(1), in(process_b, c.memory_access));
    ASSERT_TRUE(connect(a, b, {.access = c.qp_access}));
    const std::uint64_t addr = b.buffer().va() + static_cast<std::uint64_t>(c.shift);
    b.buffer().fill(std::byte{0x77});
    a.buffer().fill(std::byte{0x11});
    ASSERT_TRUE(a.post(rdma(c.opcode, addr, b.buffer().rkey), 0, 64));
    EXPECT_EQ(next_status(rig, a.cq()), c.status) << c.opcode << " shift " << c.shift;
    const bool wrote = c.status == PVRDMA_WC_SUCCESS && c.opcode == write;
    for (std::uint64_t i = 0; !wrote && i < b.buffer().length(); ++i) {
      ASSERT_EQ(*b.buffer().at(i), std::byte{0x77});
    }
  }
}

TEST_F(Protection, C63_TheDmaRegionGivesPeersNothing) {
  EndOptions kernel;
  kernel.kernel = true;
  FakeEnd a(rig.guest(0), kernel);
  FakeEnd b(rig.guest(1), kernel);
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(a.write(1, 0, 64, b.buffer()));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_ACCESS_ERR);
}

TEST_F(Protection, C64_AReceiveThatIsTooSmall) {
  FakeEnd a(rig.guest(0), in(process_a));
  FakeEnd b(rig.guest(1), in(process_b));
  ASSERT_TRUE(connect(a, b));
  b.buffer().fill(std::byte{0});
  ASSERT_TRUE(b.receive(1, 0, 63));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_LOC_LEN_ERR);
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(rig.guest(1).query(b.qp()).qp_state, +kStateErr);
  EXPECT_EQ(*b.buffer().at(63), std::byte{0});
}

TEST_F(Protection, C65_RnrRetriesAreCountedThenGivenUp) {
  for (std::uint8_t retries = 0; retries < 7; retries += 2) {
    FakeEnd a(rig.guest(0), in(process_a));
    FakeEnd b(rig.guest(1), in(process_b));
    const std::uint64_t before = rig.device(0).adapter().counters().rnr_waits.value();
    // RNR timer code 14 is 1.28 ms... the receiver decides, the sender waits.
    ASSERT_TRUE(connect(a, b, {.min_rnr_timer = 14, .rnr_retry = retries}));
    ASSERT_TRUE(a.send(1, 0, 64));
    rig.advance(milliseconds(100));
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value()) << int{retries};
    EXPECT_EQ(completion->status, +PVRDMA_WC_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(rig.device(0).adapter().counters().rnr_waits.value() - before, retries);
    EXPECT_EQ(rig.guest(0).query(a.qp()).qp_state, +kStateErr);
  }
}

TEST_F(Protection, C65_AnRnrWaitLastsAtLeastTheTimer) {
  FakeEnd a(rig.guest(0), in(process_a));
  FakeEnd b(rig.guest(1), in(process_b));
  ASSERT_TRUE(connect(a, b, {.min_rnr_timer = 20, .rnr_retry = 7}));  // 10.24 ms
  ASSERT_TRUE(a.send(1, 0, 64));
  rig.settle();
  ASSERT_TRUE(b.receive(2));
  rig.advance(milliseconds(5));
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  rig.advance(milliseconds(10));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST_F(Protection, C65_SevenMeansForEver) {
  FakeEnd a(rig.guest(0), in(process_a));
  FakeEnd b(rig.guest(1), in(process_b));
  ASSERT_TRUE(connect(a, b, {.min_rnr_timer = 14, .rnr_retry = 7}));
  ASSERT_TRUE(a.send(1, 0, 64));
  rig.advance(std::chrono::seconds(3));
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  ASSERT_TRUE(b.receive(2));
  rig.advance(milliseconds(50));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST_F(Protection, C76_DataLandsAtTheRightBytesAcrossPages) {
  for (const Layout layout : {Layout::kContiguous, Layout::kScattered}) {
    for (const std::uint32_t page_offset : {0u, 1u, 100u, 4095u}) {
      EndOptions options = in(process_b);
      options.memory = {.page_offset = page_offset, .layout = layout};
      EndOptions from = in(process_a);
      from.memory = {.page_offset = 4095 - page_offset, .layout = layout};
      FakeEnd a(rig.guest(0), from);
      FakeEnd b(rig.guest(1), options);
      ASSERT_TRUE(connect(a, b));
      std::uint64_t target = 1;
      for (const std::uint32_t bytes : {1u, 7u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 9000u}) {
        a.buffer().fill_pattern(bytes + page_offset);
        b.buffer().fill(std::byte{0xEE});
        ASSERT_TRUE(a.write(1, 3, bytes, b.buffer(), target));
        ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
        ASSERT_EQ(a.buffer().load(3, bytes), b.buffer().load(target, bytes)) << bytes;
        ASSERT_EQ(*b.buffer().at(target - 1), std::byte{0xEE});
        ASSERT_EQ(*b.buffer().at(target + bytes), std::byte{0xEE});
        a.buffer().fill(std::byte{0x22});
        ASSERT_TRUE(a.read(2, 5, bytes, b.buffer(), target));
        ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
        ASSERT_EQ(a.buffer().load(5, bytes), b.buffer().load(target, bytes)) << bytes;
        ASSERT_EQ(*a.buffer().at(4), std::byte{0x22});
        ASSERT_EQ(*a.buffer().at(5 + bytes), std::byte{0x22});
        target += 500;
      }
    }
  }
}

}  // namespace
}  // namespace paravane::fake
