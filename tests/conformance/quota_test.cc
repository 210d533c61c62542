// Quotas: each limit of a device with a test at the limit and one above it. The
// guest sees them as capabilities (device spec 4.1), a process can try to pass
// them all the same (7.11).

#include "test_rig.h"

namespace paravane::fake {
namespace {

class Quota : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kLimit = 8;

  DeviceRig& with(const device::DeviceLimits& limits) {
    RigOptions options;
    options.vms = 1;
    options.config.limits = limits;
    rig_ = std::make_unique<TestRig>(options);
    return *rig_;
  }
  FakeGuest& guest() { return rig_->guest(); }
  std::uint64_t refusals() { return rig_->device().counters().quota_refusals.value(); }

  // Runs `request` until it is refused; how many were accepted.
  template <typename Request>
  std::uint32_t accepted_until_refused(const Request& request, std::uint32_t at_most = 1000) {
    std::uint32_t accepted = 0;
    while (accepted < at_most && guest().run(request).accepted()) ++accepted;
    return accepted;
  }
  std::unique_ptr<TestRig> rig_;
};

TEST_F(Quota, QueuePairs) {
  with({.queue_pairs = kLimit});
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  PageSet pages = guest().ram().allocate_set(3, Layout::kContiguous);
  // Handle 0 is never given out.
  EXPECT_EQ(accepted_until_refused(guest().qp_request(spec, pages)), kLimit - 1);
  EXPECT_EQ(refusals(), 1u);
  EXPECT_EQ(guest().caps().max_qp, kLimit);
}

// VMware KB 2147694: up to 3 UD queue pairs. Others are not counted with them.
TEST_F(Quota, DatagramQueuePairsOfWhoIsAttachedNext) {
  for (const bool attached_before : {true, false}) {
    with({});
    rig_->device().set_rules({.datagram_queue_pairs = 3});
    if (!attached_before) rig_->device().on_attach();
    FakePd& pd = guest().create_pd(guest().kernel());
    FakeCq& cq = guest().create_cq(guest().kernel(), 4);
    QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq, .type = kTypeUd};
    PageSet pages = guest().ram().allocate_set(3, Layout::kContiguous);
    EXPECT_EQ(accepted_until_refused(guest().qp_request(spec, pages), 10),
              attached_before ? 10u : 3u);
    EXPECT_EQ(refusals(), attached_before ? 0u : 1u);
    spec.type = kTypeRc;
    EXPECT_EQ(accepted_until_refused(guest().qp_request(spec, pages), 10), 10u);
  }
}

TEST_F(Quota, ADatagramQueuePairThatIsDestroyedMakesRoom) {
  RigOptions options;
  options.vms = 1;
  options.config.rules.datagram_queue_pairs = 1;
  rig_ = std::make_unique<TestRig>(options);
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq, .type = kTypeUd};
  for (int i = 0; i < 3; ++i) guest().destroy(guest().create_qp(spec));
  EXPECT_EQ(refusals(), 0u);
}

TEST_F(Quota, QueuePairRequests) {
  with({.queue_pair_requests = 512});
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  for (const bool sends : {true, false}) {
    QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
    (sends ? spec.max_send_wr : spec.max_recv_wr) = 512;
    PageSet fits = guest().ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(),
                                              Layout::kContiguous);
    EXPECT_TRUE(guest().run(guest().qp_request(spec, fits)).accepted());
    (sends ? spec.max_send_wr : spec.max_recv_wr) = 1024;
    PageSet above = guest().ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(),
                                               Layout::kContiguous);
    EXPECT_TRUE(guest().run(guest().qp_request(spec, above)).refused());
  }
  EXPECT_EQ(guest().caps().max_qp_wr, 512u);
}

TEST_F(Quota, Sges) {
  with({.sges = 4});
  FakePd& pd = guest().create_pd(guest().kernel());
  FakeCq& cq = guest().create_cq(guest().kernel(), 4);
  for (const bool sends : {true, false}) {
    QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
    (sends ? spec.max_send_sge : spec.max_recv_sge) = 4;
    PageSet fits = guest().ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(),
                                              Layout::kContiguous);
    EXPECT_TRUE(guest().run(guest().qp_request(spec, fits)).accepted());
    (sends ? spec.max_send_sge : spec.max_recv_sge) = 5;
    PageSet above = guest().ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(),
                                               Layout::kContiguous);
    EXPECT_TRUE(guest().run(guest().qp_request(spec, above)).refused());
  }
  EXPECT_EQ(guest().caps().max_sge, 4u);
}

TEST_F(Quota, CompletionQueues) {
  with({.completion_queues = kLimit});
  PageSet pages = guest().ram().allocate_set(2, Layout::kContiguous);
  EXPECT_EQ(accepted_until_refused(guest().cq_request(guest().kernel(), 4, pages)), kLimit);
  EXPECT_EQ(refusals(), 1u);
}

TEST_F(Quota, CompletionQueueEntries) {
  with({.completion_queue_entries = 1024});
  PageSet pages = guest().ram().allocate_set(1 + 2048 / 64, Layout::kContiguous);
  CreateCq request = guest().cq_request(guest().kernel(), 1024, pages);
  request.nchunks = 1 + 1024 / 64;
  EXPECT_TRUE(guest().run(request).accepted());
  EXPECT_TRUE(guest().run(guest().cq_request(guest().kernel(), 2048, pages)).refused());
}

TEST_F(Quota, SharedReceiveQueues) {
  with({.shared_receive_queues = kLimit});
  FakePd& pd = guest().create_pd(guest().open_context());
  const SrqSpec spec{.pd = &pd};
  PageSet pages = guest().ram().allocate_set(spec.pages(), Layout::kContiguous);
  const CreateSrq request = guest().srq_request(spec, pages);
  const auto first = guest().run(request);
  ASSERT_TRUE(first.accepted());
  EXPECT_EQ(1 + accepted_until_refused(request), kLimit);
  EXPECT_EQ(refusals(), 1u);
  EXPECT_EQ(guest().caps().max_srq, kLimit);
  DestroySrq one{};
  one.handle = first.response.handle;
  ASSERT_TRUE(guest().run(one).accepted());
  EXPECT_TRUE(guest().run(request).accepted()) << "a place that was given back";
}

TEST_F(Quota, SharedReceiveQueuesThatAreNotOfferedAreRefused) {
  with({.shared_receive_queues = 0});
  EXPECT_EQ(guest().caps().max_srq, 0u);
  FakePd& pd = guest().create_pd(guest().open_context());
  const SrqSpec spec{.pd = &pd};
  PageSet pages = guest().ram().allocate_set(spec.pages(), Layout::kContiguous);
  EXPECT_TRUE(guest().run(guest().srq_request(spec, pages)).refused());
}

TEST_F(Quota, SharedReceiveQueueRequestsAndTheirSges) {
  with({.sges = 4, .shared_receive_queue_requests = 256});
  FakePd& pd = guest().create_pd(guest().open_context());
  const auto accepts = [&](std::uint32_t requests, std::uint32_t sges) {
    const SrqSpec spec{.pd = &pd, .max_wr = requests, .max_sge = sges};
    PageSet pages = guest().ram().allocate_set(spec.pages(), Layout::kContiguous);
    return guest().run(guest().srq_request(spec, pages)).accepted();
  };
  EXPECT_TRUE(accepts(256, 4));
  EXPECT_FALSE(accepts(512, 4));
  EXPECT_FALSE(accepts(256, 5));
  EXPECT_EQ(refusals(), 2u);
  EXPECT_EQ(guest().caps().max_srq_wr, 256u);
  EXPECT_EQ(guest().caps().max_srq_sge, 4u);
}

TEST_F(Quota, MemoryRegions) {
  with({.memory_regions = kLimit});
  FakePd& pd = guest().create_pd(guest().kernel());
  PageSet pages = guest().ram().allocate_set(1, Layout::kContiguous);
  const CreateMr request = guest().mr_request(pd, 0, 64, pages);
  const auto first = guest().run(request);
  ASSERT_TRUE(first.accepted());
  EXPECT_EQ(1 + accepted_until_refused(request), kLimit);
  EXPECT_EQ(refusals(), 1u);
  DestroyMr one{};
  one.handle = first.response.mr_handle;
  ASSERT_TRUE(guest().run(one).accepted());
  EXPECT_TRUE(guest().run(request).accepted()) << "a place that was given back";
}

// A directory whose 512 entries name one table, whose 512 entries alternate between two
// pages: a list of 262,144 runs for five pages of the guest.
PageSet endless_directory(GuestRam& ram) {
  PageSet set = ram.allocate_set(512, Layout::kScattered);
  const std::uint64_t first = ram.allocate(3);
  for (std::uint64_t i = 0; i < 512; ++i) {
    ram.as<std::uint64_t>(set.directory + 8 * i) = set.tables[0];
    ram.as<std::uint64_t>(set.tables[0] + 8 * i) = first + i % 2 * 2 * kPage;
  }
  return set;
}

// A count of regions alone would let a guest have 262,144 of 10 MB each.
TEST_F(Quota, BytesOfPageLists) {
  RigOptions options;
  options.vms = 1;
  rig_ = std::make_unique<TestRig>(options);
  FakePd& pd = guest().create_pd(guest().kernel());
  const PageSet pages = endless_directory(guest().ram());
  CreateMr request = guest().mr_request(pd, 0, std::uint64_t{1} << 30, pages);
  request.nchunks = 512 * 512;
  const GuestMemory& memory = rig_->memory();
  const auto first = guest().run(request);
  ASSERT_TRUE(first.accepted());
  EXPECT_GT(memory.usage().page_list_bytes, std::uint64_t{4} << 20);
  EXPECT_EQ(accepted_until_refused(request, 5), 0u);
  EXPECT_EQ(refusals(), 1u);
  EXPECT_LE(memory.usage().page_list_bytes, memory.page_list_quota());
  DestroyMr one{};
  one.handle = first.response.mr_handle;
  ASSERT_TRUE(guest().run(one).accepted());
  EXPECT_TRUE(guest().run(request).accepted()) << "bytes that were given back";
}

// The same bytes serve everything that has a list of pages, and what is refused takes none.
TEST_F(Quota, BytesOfPageListsOfEveryKind) {
  const auto fills_up = [&](const auto& make_request) {
    RigOptions options;
    options.vms = 1;
    options.memory.page_list_bytes = 96 << 10;
    rig_ = std::make_unique<TestRig>(options);
    const PageSet pages = endless_directory(guest().ram());
    const auto request = make_request(pages);
    const std::uint32_t accepted = accepted_until_refused(request, 100);
    EXPECT_GT(accepted, 1u);
    EXPECT_LT(accepted, 100u);
    EXPECT_EQ(refusals(), 1u);
    const CreateCq small = guest().cq_request(guest().kernel(), 4, pages);
    EXPECT_TRUE(guest().run(small).accepted()) << "a short list still fits";
  };
  fills_up([&](const PageSet& pages) {
    CreateMr request = guest().mr_request(guest().create_pd(guest().kernel()), 0, 1 << 21, pages);
    request.nchunks = 512;
    return request;
  });
  fills_up(
      [&](const PageSet& pages) { return guest().cq_request(guest().kernel(), 1u << 14, pages); });
  QpSpec wide{.max_send_wr = 512, .max_recv_wr = 512, .max_send_sge = 32, .max_recv_sge = 32};
  fills_up([&](const PageSet& pages) {
    wide.pd = &guest().create_pd(guest().kernel());
    wide.send_cq = wide.receive_cq = &guest().create_cq(guest().kernel(), 4);
    CreateQp request = guest().qp_request(wide, pages);
    request.total_chunks = static_cast<std::uint16_t>(1 + wide.send_pages() + wide.receive_pages());
    return request;
  });
  fills_up([&](const PageSet& pages) {
    const SrqSpec spec{
        .pd = &guest().create_pd(guest().open_context()), .max_wr = 512, .max_sge = 32};
    return guest().srq_request(spec, pages);
  });
}

TEST_F(Quota, ProtectionDomains) {
  with({.protection_domains = kLimit});
  EXPECT_EQ(accepted_until_refused(CreatePd{}), kLimit);
  EXPECT_EQ(refusals(), 1u);
}

TEST_F(Quota, Contexts) {
  with({.contexts = kLimit});
  for (std::uint32_t page = 1; page < kLimit; ++page) {
    EXPECT_TRUE(guest().run(guest().context_request(page)).accepted()) << page;
  }
  EXPECT_TRUE(guest().run(guest().context_request(kLimit)).refused());
  EXPECT_EQ(guest().caps().max_uar, kLimit);
  EXPECT_EQ(rig_->device().spec().bars[2].size, std::uint64_t{kLimit} * kPage);
}

TEST_F(Quota, Gids) {
  with({.gids = kLimit});
  EXPECT_TRUE(guest().bind_gid(kLimit - 1, gid_of_ipv4({10, 9, 8, 7})));
  EXPECT_FALSE(guest().bind_gid(kLimit, gid_of_ipv4({10, 9, 8, 6})));
  EXPECT_EQ(guest().caps().gid_tbl_len, kLimit);
}

TEST_F(Quota, ReadsOutstandingAndAddressHandlesAreTold) {
  with({.address_handles = 77, .reads_outstanding = 5});
  EXPECT_EQ(guest().caps().max_ah, 77u);
  EXPECT_EQ(guest().caps().max_qp_rd_atom, 5u);
  EXPECT_EQ(guest().caps().max_qp_init_rd_atom, 5u);
  FakeEnd end(guest());
  EXPECT_TRUE(guest().connect(end.qp(), guest().gid(), end.qp().number, {.reads = 5}));
  FakeEnd greedy(guest());
  EXPECT_FALSE(guest().connect(greedy.qp(), guest().gid(), greedy.qp().number, {.reads = 6}));
}

TEST_F(Quota, LimitsTheGuestCannotExpressAreRefusedByName) {
  struct Case {
    device::DeviceLimits limits;
    const char* name;
  };
  const Case cases[] = {
      {{.queue_pairs = 65536}, "queue_pairs"},
      {{.queue_pairs = 1}, "queue_pairs"},
      {{.queue_pair_requests = 1000}, "queue_pair_requests"},
      {{.sges = 3}, "sges"},
      {{.sges = 64}, "sges"},
      {{.completion_queues = 0}, "completion_queues"},
      {{.completion_queue_entries = 3000}, "completion_queue_entries"},
      {{.shared_receive_queues = 65537}, "shared_receive_queues"},
      {{.shared_receive_queue_requests = 100}, "shared_receive_queue_requests"},
      {{.contexts = 3}, "contexts"},
      {{.gids = 257}, "gids"},
  };
  DeviceRig& rig = with({});
  for (const Case& c : cases) {
    device::DeviceConfig config;
    config.limits = c.limits;
    fabric::Directory directory(rig.local());
    const auto port = directory.join(verbs::AdapterId{9}, "x", {});
    const auto made =
        device::PvrdmaDevice::create(config, verbs::AdapterId{9}, rig.memory(), rig.interrupts(),
                                     {rig.timers(), rig.turn_clock()}, *port);
    ASSERT_FALSE(made.has_value()) << c.name;
    EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
    EXPECT_NE(made.error().message.find(c.name), std::string::npos) << made.error().message;
  }
}

}  // namespace
}  // namespace paravane::fake
