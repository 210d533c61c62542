// Conformance: contexts, handles and numbers (device spec, C27-C30).

#include <set>

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

TEST(Conformance, C27_ContextPageIsCheckedAndReplacesAStaleContext) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  EXPECT_TRUE(guest.run(guest.context_request(0)).refused()) << "page 0 is the kernel's";
  EXPECT_TRUE(guest.run(guest.context_request(guest.caps().max_uar)).refused());
  CreateUc below{};
  below.pfn = GuestMachine::kBar2Frame - 1;
  EXPECT_TRUE(guest.run(below).refused());
  EXPECT_TRUE(guest.run(guest.context_request(guest.caps().max_uar - 1)).accepted());

  const auto first = guest.run(guest.context_request(5));
  ASSERT_TRUE(first.accepted());
  EXPECT_NE(first.response.handle, 0u);
  CreatePd request{};
  request.handle = first.response.handle;
  ASSERT_TRUE(guest.run(request).accepted());
  const device::DeviceObjects before = rig.device().objects();
  const auto second = guest.run(guest.context_request(5));
  ASSERT_TRUE(second.accepted());
  EXPECT_NE(second.response.handle, first.response.handle);
  EXPECT_EQ(rig.device().objects().contexts, before.contexts);
  EXPECT_EQ(rig.device().objects().protection_domains, before.protection_domains - 1);
  EXPECT_TRUE(guest.run(request).refused()) << "the old context is dead";
}

TEST(Conformance, C27_OldDriversGiveA32BitFrame) {
  RigOptions options = one_vm();
  options.config.version = 18;
  options.guest.driver_version = 18;
  TestRig rig(options);
  EXPECT_NE(rig.guest().open_context().handle, 0u);
}

TEST(Conformance, C28_HandlesStayInTheDriversTables) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 40; ++i) {
    FakeEnd end(guest);  // the guest itself complains about a handle beyond its tables
    EXPECT_NE(end.qp().handle, 0u);
    EXPECT_LE(end.qp().handle, 0xFFFFu);
    EXPECT_TRUE(seen.insert(end.qp().handle).second);
    EXPECT_GE(end.buffer().lkey, 0x100u);
  }
}

TEST(Conformance, C28_AFreedHandleIsNotTheNextOne) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 4);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  std::uint32_t last_qp = 0;
  std::uint32_t last_number = 0;
  std::uint32_t last_cq = cq.handle;
  std::uint32_t last_key = 0;
  for (int i = 0; i < 10; ++i) {
    FakeQp& qp = guest.create_qp(spec);
    EXPECT_NE(qp.handle, last_qp);
    EXPECT_NE(qp.number, last_number);
    last_qp = qp.handle;
    last_number = qp.number;
    guest.destroy(qp);
    FakeCq& other = guest.create_cq(guest.kernel(), 4);
    EXPECT_NE(other.handle, last_cq);
    last_cq = other.handle;
    guest.destroy(other);
    FakeMr& mr = guest.register_memory(pd, 100);
    EXPECT_NE(mr.rkey >> 8, last_key >> 8);
    last_key = mr.rkey;
    guest.destroy(mr);
  }
}

TEST(Conformance, C28_TheLastFreeHandleIsReusedWhenNoOtherIsLeft) {
  RigOptions options = one_vm();
  options.config.limits.queue_pairs = 4;  // handles 1..3
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 4);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  guest.create_qp(spec);
  guest.create_qp(spec);
  FakeQp& last = guest.create_qp(spec);
  const std::uint32_t handle = last.handle;
  guest.destroy(last);
  EXPECT_EQ(guest.create_qp(spec).handle, handle);
}

TEST(Conformance, C29_CreateQpAnswerFollowsTheLowerVersion) {
  for (std::uint32_t version = 17; version <= 20; ++version) {
    for (std::uint32_t driver = 17; driver <= 21; ++driver) {
      RigOptions options = one_vm();
      options.config.version = version;
      if (version == 17) options.config.gid_type = verbs::GidType::kRoceV1;
      options.guest.driver_version = driver;
      TestRig rig(options);
      FakeGuest& guest = rig.guest();
      FakePd& pd = guest.create_pd(guest.kernel());
      FakeCq& cq = guest.create_cq(guest.kernel(), 4);
      const QpSpec spec{
          .pd = &pd, .send_cq = &cq, .receive_cq = &cq, .max_send_wr = 2, .max_recv_wr = 8};
      PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
      const auto outcome = guest.run(guest.qp_request(spec, pages));
      ASSERT_TRUE(outcome.accepted());
      const bool second_layout = std::min(version, driver) >= 20;
      const std::uint32_t* limits = outcome.response.words + (second_layout ? 2 : 1);
      EXPECT_EQ(limits[0], 2u) << version << "/" << driver;
      EXPECT_EQ(limits[1], 8u) << version << "/" << driver;
      const std::uint32_t handle = outcome.response.words[second_layout ? 1 : 0];
      EXPECT_LT(handle, guest.caps().max_qp) << version << "/" << driver;
      QueryQp query{};
      query.qp_handle = handle;
      EXPECT_TRUE(guest.run(query).accepted()) << version << "/" << driver;
    }
  }
}

TEST(Conformance, C30_TheGsiQueuePairHasNumberOneAndIsAlone) {
  for (const std::uint32_t version : {18u, 20u}) {
    RigOptions options = one_vm();
    options.config.version = version;
    TestRig rig(options);
    FakeGuest& guest = rig.guest();
    FakePd& pd = guest.create_pd(guest.kernel());
    FakeCq& cq = guest.create_cq(guest.kernel(), 4);
    QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
    for (int i = 0; i < 5; ++i) EXPECT_GE(guest.create_qp(spec).number, 2u);
    spec.type = kTypeGsi;
    FakeQp& gsi = guest.create_qp(spec);
    EXPECT_EQ(gsi.number, 1u);
    PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
    EXPECT_TRUE(guest.run(guest.qp_request(spec, pages)).refused());
    spec.type = kTypeUd;
    for (int i = 0; i < 5; ++i) EXPECT_GE(guest.create_qp(spec).number, 2u);
    guest.destroy(gsi);
    spec.type = kTypeGsi;
    EXPECT_EQ(guest.create_qp(spec).number, 1u);
  }
}

}  // namespace
}  // namespace paravane::fake
