// Commands whose fields are out of range, one after the other: refused or
// harmless, and the guest goes on working.

#include <algorithm>
#include <functional>
#include <vector>

#include "conformance/test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kExtremes[] = {0,          1,          2,          0xFF,       0x100,
                                       0xFFFF,     0x10000,    0x40001,    0xFFFFFF,   0x1000000,
                                       0x7FFFFFFF, 0x80000000, 0xFFFFF000, 0xFFFFFFFE, 0xFFFFFFFF};

class BadCommands : public ::testing::Test {
 protected:
  static RigOptions options() {
    RigOptions options;
    options.guest.on_surprise = [](const char* what) { ADD_FAILURE() << "guest: " << what; };
    return options;
  }
  TestRig rig{options()};
  FakeGuest& guest = rig.guest(0);
  FakeEnd witness_a{rig.guest(0)};
  FakeEnd witness_b{rig.guest(1)};

  void SetUp() override { ASSERT_TRUE(connect(witness_a, witness_b)); }
  void TearDown() override {
    // The traffic that was there before is unharmed.
    ASSERT_TRUE(witness_b.receive(1));
    ASSERT_TRUE(witness_a.send(2, 0, 64));
    EXPECT_EQ(next_status(rig, witness_b.cq()), PVRDMA_WC_SUCCESS);
    EXPECT_EQ(next_status(rig, witness_a.cq()), PVRDMA_WC_SUCCESS);
    EXPECT_EQ(rig.device(0).fatal_reason(), "");
  }

  // Every 32-bit word of the body takes every extreme value in turn; `undo` gets
  // what was accepted all the same.
  template <typename Request>
  void sweep(const Request& good, const std::function<void(const Request&)>& prepare,
             const std::function<void(const typename Request::Response&)>& undo) {
    for (std::size_t at = sizeof(RequestHeader); at + 4 <= sizeof(Request); at += 4) {
      for (const std::uint32_t value : kExtremes) {
        Request request = good;
        std::memcpy(reinterpret_cast<std::byte*>(&request) + at, &value, sizeof value);
        if (prepare) prepare(request);
        const auto outcome = guest.run(request);
        if (outcome.accepted() && undo) undo(outcome.response);
      }
    }
  }
  template <typename Destroy>
  void destroy(std::uint32_t handle) {
    Destroy request{};
    request.handle = handle;
    EXPECT_TRUE(guest.run(request).accepted());
  }
};

TEST_F(BadCommands, CreateMrWithEveryFieldOutOfRange) {
  PageSet pages = guest.ram().allocate_set(4, Layout::kScattered);
  const CreateMr good = guest.mr_request(witness_a.pd(), 0x7000'0000, 4 * kPage, pages);
  const auto before = rig.device(0).objects().memory_regions;
  sweep<CreateMr>(good, {},
                  [&](const CreateMrResponse& made) { destroy<DestroyMr>(made.mr_handle); });
  EXPECT_EQ(rig.device(0).objects().memory_regions, before);
}

TEST_F(BadCommands, CreateCqWithEveryFieldOutOfRange) {
  PageSet pages = guest.ram().allocate_set(5, Layout::kScattered);
  const CreateCq good = guest.cq_request(witness_a.context(), 256, pages);
  const auto before = rig.device(0).objects().completion_queues;
  sweep<CreateCq>(good, {},
                  [&](const CreateCqResponse& made) { destroy<DestroyCq>(made.cq_handle); });
  EXPECT_EQ(rig.device(0).objects().completion_queues, before);
}

TEST_F(BadCommands, CreateQpWithEveryFieldOutOfRange) {
  QpSpec spec = witness_a.qp().spec();
  PageSet pages =
      guest.ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(), Layout::kScattered);
  const auto before = rig.device(0).objects().queue_pairs;
  sweep<CreateQp>(guest.qp_request(spec, pages), {},
                  [&](const CreateQpResponse& made) { destroy<DestroyQp>(made.words[1]); });
  EXPECT_EQ(rig.device(0).objects().queue_pairs, before);
}

TEST_F(BadCommands, ModifyQpWithEveryFieldOutOfRange) {
  FakeEnd victim(guest);
  FakeEnd peer(rig.guest(1));
  ModifyQp good{};
  good.qp_handle = victim.qp().handle;
  good.attr_mask = kMaskState | kMaskAv | kMaskPathMtu | kMaskDestQpn | kMaskRqPsn |
                   kMaskMaxDestReads | kMaskMinRnrTimer;
  good.attrs.qp_state = kStateRtr;
  good.attrs.path_mtu = 3;
  good.attrs.dest_qp_num = peer.qp().number;
  good.attrs.ah_attr.ah_flags = 1;
  good.attrs.ah_attr.port_num = 1;
  std::ranges::copy(rig.guest(1).gid(), good.attrs.ah_attr.dgid);
  // Always from INIT, whatever the one before did.
  sweep<ModifyQp>(good,
                  [&](const ModifyQp& request) {
                    if (request.qp_handle != victim.qp().handle) return;
                    ASSERT_TRUE(guest.to_reset(victim.qp()));
                    ASSERT_TRUE(guest.to_init(victim.qp()));
                  },
                  {});
  ASSERT_TRUE(guest.to_reset(victim.qp()));
  ASSERT_TRUE(connect(victim, peer));
  ASSERT_TRUE(victim.write(1, 0, 64, peer.buffer()));
  EXPECT_EQ(next_status(rig, victim.cq()), PVRDMA_WC_SUCCESS);
}

TEST_F(BadCommands, ContextsBindingsAndQueriesWithEveryFieldOutOfRange) {
  sweep<CreateUc>(guest.context_request(9), {},
                  [&](const HandleResponse& made) { destroy<DestroyUc>(made.handle); });
  CreateBind bind{};
  bind.mtu = 1024;
  bind.vlan = 0xFFF;
  bind.index = 7;
  bind.gid_type = guest.caps().gid_types;
  sweep<CreateBind>(bind, {}, {});
  sweep<DestroyBind>(DestroyBind{.header = {}, .index = 7, .dest_gid = {}, .reserved = {}}, {}, {});
  QueryPort port{};
  sweep<QueryPort>(port, {}, {});
  sweep<QueryPkey>(QueryPkey{}, {}, {});
  sweep<QueryQp>(QueryQp{}, {}, {});
  sweep<ResizeCq>(ResizeCq{}, {}, {});
  sweep<CreatePd>(CreatePd{}, {},
                  [&](const HandleResponse& made) { destroy<DestroyPd>(made.handle); });
  // GIDs that others must not lose: rebind what the sweep moved.
  for (std::uint32_t index = 0; index < 2; ++index) {
    EXPECT_TRUE(guest.bind_gid(index, guest.gid(index)));
  }
}

TEST_F(BadCommands, SharedReceiveQueuesWithEveryFieldOutOfRange) {
  const SrqSpec spec{.pd = &witness_a.pd()};
  PageSet pages = guest.ram().allocate_set(spec.pages(), Layout::kScattered);
  const auto before = rig.device(0).objects().shared_receive_queues;
  sweep<CreateSrq>(guest.srq_request(spec, pages), {},
                   [&](const HandleResponse& made) { destroy<DestroySrq>(made.handle); });
  EXPECT_EQ(rig.device(0).objects().shared_receive_queues, before);
  FakeSrq& srq = guest.create_srq(spec);
  ModifySrq limit{};
  limit.srq_handle = srq.handle;
  limit.attr_mask = kMaskSrqLimit;
  limit.srq_limit = 3;
  sweep<ModifySrq>(limit, {}, {});
  QuerySrq query{};
  query.handle = srq.handle;
  sweep<QuerySrq>(query, {}, {});
  guest.destroy(srq);
}

TEST_F(BadCommands, DestroyingWhatDoesNotExistOrIsInUse) {
  const device::DeviceObjects before = rig.device(0).objects();
  for (const std::uint32_t handle : {0x4242u, 0xFFFFu, 0x10000u, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_TRUE(guest.run(DestroyMr{.header = {}, .handle = handle, .reserved = 0}).refused());
    EXPECT_TRUE(guest.run(DestroyCq{.header = {}, .handle = handle, .reserved = 0}).refused());
    EXPECT_TRUE(guest.run(DestroyQp{.header = {}, .handle = handle, .reserved = 0}).refused());
    EXPECT_TRUE(guest.run(DestroyPd{.header = {}, .handle = handle, .reserved = 0}).refused());
    EXPECT_TRUE(guest.run(DestroyUc{.header = {}, .handle = handle, .reserved = 0}).refused());
    EXPECT_TRUE(guest.run(DestroySrq{.header = {}, .handle = handle, .reserved = 0}).refused());
  }
  // In use: a PD with a region and a QP, a CQ with a QP. (A shared receive queue:
  // tests/conformance.)
  DestroyPd pd{};
  pd.handle = witness_a.pd().handle;
  EXPECT_TRUE(guest.run(pd).refused());
  DestroyCq cq{};
  cq.handle = witness_a.cq().handle;
  EXPECT_TRUE(guest.run(cq).refused());
  EXPECT_TRUE(same_objects(rig.device(0).objects(), before));
}

TEST_F(BadCommands, RandomBytesAsCommands) {
  std::uint64_t random = 0x1234'5678'9ABC'DEF1;
  std::vector<std::byte> slot(kRequestBytes);
  for (int i = 0; i < 3000; ++i) {
    for (std::byte& byte : slot) {
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      byte = static_cast<std::byte>(random >> 56);
    }
    RequestHeader header{};
    header.cmd = static_cast<std::uint32_t>(i % 24);
    if (header.cmd == DestroyUc::kOpcode || header.cmd == DestroyQp::kOpcode) continue;
    std::memcpy(slot.data(), &header, sizeof header);
    guest.submit_bytes(slot);
    rig.advance(std::chrono::microseconds(10));
    rig.machine(0).take_interrupt(kVectorResponse);
  }
}

}  // namespace
}  // namespace paravane::fake
