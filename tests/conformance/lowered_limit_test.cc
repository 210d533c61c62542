// An adapter that is taken over by an engine whose limits are lower keeps what it holds, and can
// create nothing more of it until it holds less.

#include <vector>

#include "test_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {
namespace {

class LoweredLimit : public ::testing::Test {
 protected:
  void with(const device::DeviceLimits& limits = {}) {
    RigOptions options;
    options.vms = 1;
    options.config.limits = limits;
    options.hand_over_every = 0;
    options.journals = true;
    rig_ = std::make_unique<TestRig>(options);
  }
  FakeGuest& guest() { return rig_->guest(); }
  device::DeviceObjects held() { return rig_->device().objects(); }
  void take_over(const device::DeviceLimits& lower) {
    const device::DeviceObjects before = held();
    for (int engines = 0; engines < 2; ++engines) {
      rig_->lower_limits(0, lower);
      rig_->hand_over(0);
    }
    EXPECT_TRUE(same_objects(held(), before));
  }
  template <typename Request>
  bool accepts(const Request& request) {
    return guest().run(request).accepted();
  }

  std::unique_ptr<TestRig> rig_;
};

TEST_F(LoweredLimit, TakesNoQueuePairAway) {
  with();
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  std::vector<FakeQp*> qps;
  for (int i = 0; i < 9; ++i) qps.push_back(&guest().create_qp(spec));
  take_over({.queue_pairs = 4});
  const PageSet pages = guest().ram().allocate_set(3, Layout::kContiguous);
  for (; held().queue_pairs > 3; qps.pop_back()) {
    EXPECT_FALSE(accepts(guest().qp_request(spec, pages))) << held().queue_pairs;
    guest().destroy(*qps.back());
  }
  EXPECT_TRUE(accepts(guest().qp_request(spec, pages)));
  EXPECT_FALSE(accepts(guest().qp_request(spec, pages)));
}

TEST_F(LoweredLimit, TakesNoCompletionQueueAway) {
  with();
  std::vector<FakeCq*> cqs;
  for (int i = 0; i < 9; ++i) cqs.push_back(&guest().create_cq(guest().kernel(), 4));
  take_over({.completion_queues = 4});
  const PageSet pages = guest().ram().allocate_set(2, Layout::kContiguous);
  for (; held().completion_queues > 3; cqs.pop_back()) {
    EXPECT_FALSE(accepts(guest().cq_request(guest().kernel(), 4, pages)));
    guest().destroy(*cqs.back());
  }
  EXPECT_TRUE(accepts(guest().cq_request(guest().kernel(), 4, pages)));
  EXPECT_FALSE(accepts(guest().cq_request(guest().kernel(), 4, pages)));
}

TEST_F(LoweredLimit, TakesNoDomainAway) {
  with();
  std::vector<FakePd*> pds;
  for (int i = 0; i < 9; ++i) pds.push_back(&guest().create_pd(guest().kernel()));
  take_over({.protection_domains = 4});
  for (; held().protection_domains > 3; pds.pop_back()) {
    EXPECT_FALSE(accepts(CreatePd{}));
    guest().destroy(*pds.back());
  }
  EXPECT_TRUE(accepts(CreatePd{}));
  EXPECT_FALSE(accepts(CreatePd{}));
}

TEST_F(LoweredLimit, TakesNoRegionAway) {
  with();
  FakePd& pd = guest().create_pd(guest().kernel());
  std::vector<FakeMr*> mrs;
  for (int i = 0; i < 9; ++i) mrs.push_back(&guest().register_memory(pd, 3 * kPage));
  take_over({.memory_regions = 4});
  const PageSet pages = guest().ram().allocate_set(1, Layout::kContiguous);
  for (; held().memory_regions > 3; mrs.pop_back()) {
    EXPECT_FALSE(accepts(guest().mr_request(pd, 0, kPage, pages)));
    guest().destroy(*mrs.back());
  }
  EXPECT_TRUE(accepts(guest().mr_request(pd, 0, kPage, pages)));
  EXPECT_FALSE(accepts(guest().mr_request(pd, 0, kPage, pages)));
}

TEST_F(LoweredLimit, TakesNoSharedReceiveQueueAway) {
  with();
  FakeEnd end(guest());
  const SrqSpec spec{.pd = &end.pd()};
  for (int i = 0; i < 3; ++i) guest().create_srq(spec);
  take_over({.shared_receive_queues = 0});
  const PageSet pages = guest().ram().allocate_set(spec.pages(), Layout::kContiguous);
  EXPECT_FALSE(accepts(guest().srq_request(spec, pages)));
}

TEST_F(LoweredLimit, TakesNoSizeAway) {
  with();
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 2048);
  QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  spec.max_send_wr = 1024;
  spec.max_send_sge = 4;
  guest().create_qp(spec);
  take_over({.queue_pair_requests = 512, .sges = 2, .completion_queue_entries = 1024});
  const auto fits = [&] {
    const PageSet pages = guest().ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(),
                                                     Layout::kContiguous);
    return accepts(guest().qp_request(spec, pages));
  };
  EXPECT_FALSE(fits());
  spec.max_send_wr = 512;
  EXPECT_FALSE(fits());
  spec.max_send_sge = 2;
  EXPECT_TRUE(fits());
}

TEST_F(LoweredLimit, TakesNoGidAndNoReadsAway) {
  with();
  ASSERT_TRUE(guest().bind_gid(9, gid_of_ipv4({10, 9, 8, 7})));
  FakeEnd end(guest());
  ASSERT_TRUE(guest().connect(end.qp(), guest().gid(), end.qp().number, {.reads = 8}));
  take_over({.gids = 4, .reads_outstanding = 2});
  EXPECT_FALSE(guest().bind_gid(8, gid_of_ipv4({10, 9, 8, 6})));
  EXPECT_TRUE(guest().unbind_gid(9));
  EXPECT_EQ(held().gids, 2u);
}

// They are hardware that the VMM has mapped.
TEST_F(LoweredLimit, TakesNoDoorbellPageAway) {
  with({.contexts = 64});
  for (std::uint32_t page = 1; page < 40; ++page) {
    ASSERT_TRUE(accepts(guest().context_request(page)));
  }
  take_over({.contexts = 16});
  EXPECT_TRUE(accepts(guest().context_request(63)));
  EXPECT_FALSE(accepts(guest().context_request(64)));
  EXPECT_EQ(rig_->device().spec().bars[2].size, 64 * kPage);
}

// What has died with its engine is found by the journal, whose size is that of before.
TEST_F(LoweredLimit, LosesNoQueueOfAKernelInACrash) {
  with();
  FakePd& pd = guest().create_pd(guest().kernel());
  std::vector<FakeQp*> qps;
  for (int i = 0; i < 9; ++i) {
    FakeCq& cq = guest().create_cq(guest().kernel(), 4);
    qps.push_back(&guest().create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq}));
  }
  take_over({.queue_pairs = 4, .completion_queues = 4});
  const device::KernelJournal& journal = rig_->journal();
  EXPECT_TRUE(journal.qp(qps.back()->handle));
}

}  // namespace
}  // namespace paravane::fake
