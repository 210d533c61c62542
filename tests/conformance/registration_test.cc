// Conformance: regions that the guest's kernel registers and invalidates by work
// requests (device spec, C35, C73, C74).

#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint64_t kStart = 0x4000'0010;
constexpr std::uint32_t kFast = kMrFastRegister;

EndOptions in_the_kernel() {
  EndOptions options;
  options.kernel = true;
  return options;
}

class Registration : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(connect(a, b)); }

  static CreateMr fast_request(const FakePd& pd, std::uint32_t pages) {
    CreateMr request{};
    request.pd_handle = pd.handle;
    request.flags = kFast;
    request.nchunks = pages;
    return request;
  }
  std::uint32_t create_fast(FakeEnd& end, std::uint32_t pages) {
    const auto outcome = end.guest().run(fast_request(end.pd(), pages));
    EXPECT_TRUE(outcome.accepted());
    return outcome.response.rkey;
  }
  static bool post(FakeEnd& end, SendWr wr) { return end.qp().post_send(wr); }
  bool enroll(FakeEnd& end, const RegisterWr& registration) {
    return post(end, {.opcode = PVRDMA_WR_FAST_REG_MR, .registration = &registration});
  }
  // One page of b's, at 0x1000, open to writes.
  void enroll_page(std::uint32_t key, const PageSet& pages) {
    ASSERT_TRUE(enroll(b, {.start = 0x1000,
                           .directory = pages.directory,
                           .pages = 1,
                           .length = 4096,
                           .access = kLocalWrite | kRemoteWrite,
                           .key = key}));
    EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
  }
  bool invalidate(FakeEnd& end, std::uint32_t key) {
    return post(end, {.opcode = PVRDMA_WR_LOCAL_INV, .rkey = key});
  }

  // After an error.
  void mend() {
    a.renew_qp();
    b.renew_qp();
    ASSERT_TRUE(connect(a, b));
  }

  TestRig rig;
  GuestRam& ram = rig.machine(1).ram();
  FakeEnd a{rig.guest(0), in_the_kernel()};
  FakeEnd b{rig.guest(1), in_the_kernel()};
};

TEST_F(Registration, C35_AFastRegionHasNoPagesYet) {
  const std::uint32_t key = create_fast(b, 128);
  EXPECT_GE(key, 0x100u);
  create_fast(b, 1);
  EXPECT_TRUE(rig.guest(1).run(fast_request(b.pd(), 0)).refused());
  EXPECT_TRUE(rig.guest(1).run(fast_request(b.pd(), 129)).refused());
  FakePd& process_pd = rig.guest(1).create_pd(rig.guest(1).open_context());
  EXPECT_TRUE(rig.guest(1).run(fast_request(process_pd, 1)).refused()) << "kernel only";
}

TEST_F(Registration, C73_RegisterUseInvalidateRegisterAgain) {
  const std::uint32_t first = create_fast(b, 4);
  PageSet pages = ram.allocate_set(2, Layout::kScattered);
  const auto write = [&](std::uint32_t rkey) {
    EXPECT_TRUE(
        a.post({.opcode = PVRDMA_WR_RDMA_WRITE, .remote_addr = kStart, .rkey = rkey}, 0, 64));
    return next_status(rig, a.cq());
  };
  EXPECT_EQ(write(first), PVRDMA_WC_REM_ACCESS_ERR) << "not registered yet";
  mend();

  std::uint32_t key = first;
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t old = key;
    key = (key & ~0xFFu) | ((key + 1) & 0xFF);
    ASSERT_TRUE(enroll(b, {.start = kStart,
                           .directory = pages.directory,
                           .pages = 2,
                           .length = 5000,
                           .access = kLocalWrite | kRemoteWrite,
                           .key = key}));
    auto done = next_completion(rig, b.cq());
    ASSERT_TRUE(done && done->status == PVRDMA_WC_SUCCESS);
    EXPECT_EQ(done->opcode, std::uint32_t{PVRDMA_WC_FAST_REG_MR});
    a.buffer().fill_pattern(static_cast<std::uint32_t>(round));
    EXPECT_EQ(write(key), PVRDMA_WC_SUCCESS);
    EXPECT_EQ(*(ram.at(pages.pages[0]) + 0x10),
              FakeMr::pattern(static_cast<std::uint32_t>(round), 0));
    EXPECT_EQ(write(old), PVRDMA_WC_REM_ACCESS_ERR);
    mend();
    ASSERT_TRUE(invalidate(b, key));
    done = next_completion(rig, b.cq());
    ASSERT_TRUE(done && done->status == PVRDMA_WC_SUCCESS);
    EXPECT_EQ(done->opcode, std::uint32_t{PVRDMA_WC_LOCAL_INV});
    EXPECT_EQ(write(key), PVRDMA_WC_REM_ACCESS_ERR);
    mend();
  }
  ram.release_set(pages);
}

TEST_F(Registration, C73_ListWrittenAgainAfterCompletionChangesNothing) {
  const std::uint32_t key = create_fast(b, 1);
  PageSet pages = ram.allocate_set(1, Layout::kContiguous);
  PageSet others = ram.allocate_set(1, Layout::kContiguous);
  enroll_page(key, pages);
  *reinterpret_cast<std::uint64_t*>(ram.at(pages.tables[0])) = others.pages[0];
  a.buffer().fill_pattern(9);
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_RDMA_WRITE, .remote_addr = 0x1000, .rkey = key}, 0, 64));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(*ram.at(pages.pages[0]), FakeMr::pattern(9, 0));
  EXPECT_EQ(*ram.at(others.pages[0]), std::byte{0});
  ASSERT_TRUE(invalidate(b, key));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
  ram.release_set(pages);
  ram.release_set(others);
}

TEST_F(Registration, C73_RegistrationsThatCannotBeAreBindErrors) {
  const std::uint32_t key = create_fast(b, 2);
  PageSet pages = ram.allocate_set(2, Layout::kScattered);
  const RegisterWr good{.start = 0x1000,
                        .directory = pages.directory,
                        .pages = 2,
                        .length = 8192,
                        .access = kLocalWrite,
                        .key = key};
  const auto status_of = [&](const RegisterWr& registration) {
    EXPECT_TRUE(enroll(b, registration));
    const std::uint32_t status = next_status(rig, b.cq());
    mend();
    return status;
  };
  RegisterWr bad = good;
  bad.pages = 3;
  EXPECT_EQ(status_of(bad), PVRDMA_WC_MW_BIND_ERR);
  bad = good;
  bad.page_shift = 21;
  EXPECT_EQ(status_of(bad), PVRDMA_WC_MW_BIND_ERR);
  bad = good;
  bad.length = 8193;
  EXPECT_EQ(status_of(bad), PVRDMA_WC_MW_BIND_ERR);
  bad = good;
  bad.directory = 0x7FFF'FFFF'F000;
  EXPECT_EQ(status_of(bad), PVRDMA_WC_MW_BIND_ERR);
  bad = good;
  bad.key = 0xFFFF'FF00;
  EXPECT_EQ(status_of(bad), PVRDMA_WC_MW_BIND_ERR);
  EXPECT_EQ(status_of(good), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(status_of(good), PVRDMA_WC_MW_BIND_ERR) << "it has memory";
  ASSERT_TRUE(invalidate(b, key + 0x100));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_MW_BIND_ERR);
  ram.release_set(pages);
}

TEST_F(Registration, C74_SendInvalidatesAndTheKernelIsToldWhich) {
  const std::uint32_t key = create_fast(b, 1);
  PageSet pages = ram.allocate_set(1, Layout::kContiguous);
  enroll_page(key, pages);
  ASSERT_TRUE(b.receive(5));
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_SEND_WITH_INV, .rkey = key}, 0, 16));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  const auto got = next_completion(rig, b.cq());
  ASSERT_TRUE(got && got->status == PVRDMA_WC_SUCCESS);
  EXPECT_EQ(got->wc_flags & PVRDMA_WC_WITH_INVALIDATE, std::uint32_t{PVRDMA_WC_WITH_INVALIDATE});
  EXPECT_EQ(got->imm_data, key) << "a number, little-endian";
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_RDMA_WRITE, .remote_addr = 0x1000, .rkey = key}, 0, 16));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_ACCESS_ERR);
  ram.release_set(pages);
}

TEST_F(Registration, C74_WhatIsNoFastRegionOfTheReceiverIsNotInvalidated) {
  ASSERT_TRUE(b.receive(5));
  ASSERT_TRUE(a.post({.opcode = PVRDMA_WR_SEND_WITH_INV, .rkey = b.buffer().rkey}, 0, 16));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_ACCESS_ERR);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_REM_INV_REQ_ERR);
}

}  // namespace
}  // namespace paravane::fake
