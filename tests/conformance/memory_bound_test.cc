// Counts what a guest that fills its quotas makes the device keep, and holds it against
// the figure of device/memory_bound.h. A program of its own, because it counts all that
// is allocated in it.

#include "device/memory_bound.h"

#include "allocated.h"
#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr device::DeviceLimits kLimits{.queue_pairs = 2048,
                                       .completion_queues = 4096,
                                       .shared_receive_queues = 1024,
                                       .memory_regions = 16384,
                                       .protection_domains = 4096,
                                       .contexts = 128};

class MemoryBound : public ::testing::Test {
 protected:
  MemoryBound() {
    RigOptions options;
    options.vms = 1;
    options.config.limits = kLimits;
    rig_ = std::make_unique<TestRig>(options);
    before_ = allocated();
  }
  FakeGuest& guest() { return rig_->guest(); }
  device::MemoryBound bound() const {
    return device::memory_bound(kLimits, rig_->memory().page_list_quota());
  }
  std::uint64_t growth() const { return allocated() - before_; }
  std::uint64_t list_bytes() const { return rig_->memory().usage().page_list_bytes; }

  template <typename Request>
  void until_refused(const Request& request) {
    while (guest().run(request).accepted()) {
    }
  }
  // Requests are made by hand: the guest would keep objects of its own.
  void make_everything() {
    PageSet pages = guest().ram().allocate_set(16, Layout::kContiguous);
    FakePd& user_pd = guest().create_pd(guest().open_context());  // it has page 1
    for (std::uint32_t page = 2; page < kLimits.contexts; ++page) {
      guest().run(guest().context_request(page));
    }
    FakePd& kernel_pd = guest().create_pd(guest().kernel());
    FakeCq& cq = guest().create_cq(guest().kernel(), 4);
    until_refused(guest().cq_request(guest().kernel(), 4, pages));
    const SrqSpec srq{.pd = &user_pd};
    PageSet srq_pages = guest().ram().allocate_set(srq.pages(), Layout::kContiguous);
    until_refused(guest().srq_request(srq, srq_pages));
    const QpSpec qp{.pd = &kernel_pd, .send_cq = &cq, .receive_cq = &cq};
    PageSet qp_pages =
        guest().ram().allocate_set(1 + qp.send_pages() + qp.receive_pages(), Layout::kContiguous);
    until_refused(guest().qp_request(qp, qp_pages));
    PageSet mr_pages = guest().ram().allocate_set(1, Layout::kContiguous);
    until_refused(guest().mr_request(kernel_pd, 0, 64, mr_pages));
    until_refused(CreatePd{});
  }

  std::unique_ptr<TestRig> rig_;
  std::uint64_t before_ = 0;
};

TEST_F(MemoryBound, HoldsForAGuestThatFillsItsQuotasAndIsNotFarFromIt) {
  make_everything();
  const device::DeviceObjects held = rig_->device().objects();
  EXPECT_GE(held.queue_pairs, kLimits.queue_pairs - 2);
  EXPECT_EQ(held.completion_queues, kLimits.completion_queues);
  EXPECT_EQ(held.shared_receive_queues, kLimits.shared_receive_queues);
  EXPECT_EQ(held.memory_regions, kLimits.memory_regions);
  EXPECT_EQ(held.protection_domains, kLimits.protection_domains);
  EXPECT_GE(held.contexts, kLimits.contexts - 2);
  const std::uint64_t grown = growth() - list_bytes();
  std::printf("objects: grown %lu, bound %lu\n", grown, bound().objects);
  EXPECT_LE(grown, bound().objects);
  EXPECT_LE(bound().objects, 3 * grown);
  // Another engine judges the length of a state by that (worker::most_state_bytes).
  const std::uint64_t lists = list_bytes() / 16 * 12;
  const std::uint64_t saved = rig_->saved(0).size();
  std::printf("state: %lu, of which in lists %lu\n", saved, lists);
  EXPECT_LE(saved, bound().objects + lists);
}

// Lists that are as long as a guest can make them, until there is no room for more.
TEST_F(MemoryBound, HoldsForPageListsAndTheOneThatIsBuilt) {
  PageSet set = guest().ram().allocate_set(512, Layout::kScattered);
  const std::uint64_t first = guest().ram().allocate(3);
  for (std::uint64_t i = 0; i < 512; ++i) {
    guest().ram().as<std::uint64_t>(set.directory + 8 * i) = set.tables[0];
    guest().ram().as<std::uint64_t>(set.tables[0] + 8 * i) = first + i % 2 * 2 * kPage;
  }
  FakePd& pd = guest().create_pd(guest().kernel());
  CreateMr request = guest().mr_request(pd, 0, std::uint64_t{1} << 24, set);
  request.nchunks = 4096;
  before_ = allocated();
  until_refused(request);
  std::printf("page lists: grown %lu, quota %lu\n", growth(), bound().page_lists);
  EXPECT_GT(list_bytes(), bound().page_lists / 10 * 9);
  EXPECT_LE(growth(), bound().page_lists + bound().fixed);
  EXPECT_LE(bound().page_lists, 3 * growth());
}

// What one object more adds to the bound, for the table of docs/configuration.md.
TEST(MemoryBoundOf, OneObject) {
  const auto bytes = [](std::uint32_t device::DeviceLimits::* limit) {
    device::DeviceLimits more;
    ++(more.*limit);
    return device::memory_bound(more, 0).objects - device::memory_bound({}, 0).objects;
  };
  using Limits = device::DeviceLimits;
  std::printf(
      "bound of a queue pair %lu, completion queue %lu, shared receive queue %lu, region %lu\n",
      bytes(&Limits::queue_pairs), bytes(&Limits::completion_queues),
      bytes(&Limits::shared_receive_queues), bytes(&Limits::memory_regions));
  const device::MemoryBound all = device::memory_bound({}, 0);
  std::printf(
      "MiB: objects %lu, held back %lu, requests %lu, transports %lu, fixed %lu, total %lu\n",
      all.objects >> 20, all.held_back >> 20, all.requests >> 20, all.transports >> 20,
      all.fixed >> 20, all.total() >> 20);
  EXPECT_LE(bytes(&Limits::queue_pairs), 4096u);
}

}  // namespace
}  // namespace paravane::fake
