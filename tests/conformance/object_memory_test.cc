// Counts what one more object of a guest takes of the daemon's memory, beside the guest's own pages
// and beside the lists of these pages, which are counted by the run. A program of its own, because
// it counts all that is allocated in it.

#include "allocated.h"
#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kObjects = 2000;

// Bounds of bytes: for one object with its places in tables, and for one run of pages.
constexpr std::uint64_t kQueuePair = 1024;
constexpr std::uint64_t kCompletionQueue = 512;
constexpr std::uint64_t kMemoryRegion = 256;
constexpr std::uint64_t kRun = 16;

class ObjectMemory : public ::testing::Test {
 protected:
  ObjectMemory() {
    RigOptions options;
    options.vms = 1;
    options.config.limits.completion_queues = 2 * kObjects;
    rig_ = std::make_unique<TestRig>(options);
  }
  FakeGuest& guest() { return rig_->guest(); }
  std::uint64_t list_bytes() const { return rig_->memory().usage().page_list_bytes; }

  // The bytes of one of kObjects, without lists. Requests are made by hand: the guest would keep
  // objects of its own.
  template <typename Request>
  std::uint64_t bytes_of_one(const char* what, const Request& request) {
    const std::uint64_t before = allocated() - list_bytes();
    for (std::uint32_t i = 0; i < kObjects; ++i) {
      if (!guest().run(request).accepted()) ADD_FAILURE() << what << " " << i << " is refused";
    }
    const std::uint64_t bytes = (allocated() - list_bytes() - before) / kObjects;
    std::printf("%s: %lu bytes\n", what, bytes);
    return bytes;
  }

  std::unique_ptr<TestRig> rig_;
};

TEST_F(ObjectMemory, OfAQueuePair) {
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  const QpSpec qp{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  PageSet pages =
      guest().ram().allocate_set(1 + qp.send_pages() + qp.receive_pages(), Layout::kContiguous);
  EXPECT_LE(bytes_of_one("queue pair", guest().qp_request(qp, pages)), kQueuePair);
}

TEST_F(ObjectMemory, OfACompletionQueue) {
  PageSet pages = guest().ram().allocate_set(16, Layout::kContiguous);
  EXPECT_LE(bytes_of_one("completion queue", guest().cq_request(guest().kernel(), 4, pages)),
            kCompletionQueue);
}

TEST_F(ObjectMemory, OfAMemoryRegion) {
  FakePd& pd = guest().create_pd(guest().kernel());
  PageSet pages = guest().ram().allocate_set(1, Layout::kContiguous);
  EXPECT_LE(bytes_of_one("memory region", guest().mr_request(pd, 0, 64, pages)), kMemoryRegion);
}

TEST_F(ObjectMemory, OfARunOfPages) {
  constexpr std::uint64_t kRuns = 4096;
  FakePd& pd = guest().create_pd(guest().kernel());
  PageSet pages = guest().ram().allocate_set(kRuns, Layout::kScattered);
  const auto add_region = [&] {
    return guest().run(guest().mr_request(pd, 0, kRuns * kPage, pages)).accepted();
  };
  // What glibc keeps of freed blocks for the next request of their size counts as given out.
  ASSERT_TRUE(add_region());
  const std::uint64_t before = allocated();
  ASSERT_TRUE(add_region());
  const std::uint64_t bytes = allocated() - before;
  std::printf("region of %lu runs: %lu bytes\n", kRuns, bytes);
  EXPECT_LE(bytes, kRuns * kRun + 1024);
}

// What a queue pair needs while requests are carried out is given back with the last of them.
TEST_F(ObjectMemory, UseOfAQueuePairLeavesNothingBehind) {
  constexpr std::uint32_t kPairs = 128;
  FakeContext& process = guest().open_context();
  FakePd& pd = guest().create_pd(process);
  FakeCq& cq = guest().create_cq(process, 4 * kPairs);
  FakeMr& buffer = guest().register_memory(pd, 4096);
  const auto connected = [&] {
    const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
    const std::array<FakeQp*, 2> ends{&guest().create_qp(spec), &guest().create_qp(spec)};
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_TRUE(guest().connect(*ends[i], guest().gid(), ends[1 - i]->number));
    }
    return ends;
  };
  const auto use = [&](const std::array<FakeQp*, 2>& ends) {
    const pvrdma_sge sge = buffer.sge(0, 64);
    EXPECT_TRUE(ends[1]->queue_receive({.sges = {&sge, 1}}));
    EXPECT_TRUE(ends[0]->post_send({.opcode = PVRDMA_WR_SEND, .sges = {&sge, 1}}));
    EXPECT_TRUE(ends[0]->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                                    .remote_addr = buffer.va(),
                                    .rkey = buffer.rkey,
                                    .sges = {&sge, 1}}));
    rig_->settle();
    for (pvrdma_cqe done; cq.poll(done);) EXPECT_EQ(done.status, PVRDMA_WC_SUCCESS);
  };
  use(connected());
  std::vector<std::array<FakeQp*, 2>> pairs;
  for (std::uint32_t i = 0; i < kPairs; ++i) pairs.push_back(connected());
  const std::uint64_t before = allocated();
  for (const auto& ends : pairs) use(ends);
  const std::uint64_t bytes = (allocated() - before) / (2 * kPairs);
  std::printf("use of a queue pair: %lu bytes\n", bytes);
  EXPECT_LE(bytes, 16u);
}

}  // namespace
}  // namespace paravane::fake
