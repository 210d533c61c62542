// Conformance: the command channel (device spec, C20-C26 and C39).

#include <algorithm>
#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

class CommandChannel : public ::testing::Test {
 protected:
  TestRig rig{one_vm()};
  FakeGuest& guest = rig.guest();
  GuestMachine& machine = rig.machine();

  QueryPort query_port() {
    QueryPort port{};
    port.port_num = 1;
    return port;
  }
  // How often vector 0 fires for it, at once or later.
  template <typename Request>
  std::uint64_t interrupts_for(const Request& request, std::uint32_t expected_err) {
    EXPECT_EQ(guest.submit(request) != 0, expected_err != 0);
    rig.settle();
    return machine.take_interrupt(kVectorResponse);
  }
};

TEST_F(CommandChannel, C20_ResponseEchoesTheCookieAndAcknowledges) {
  QueryPort request = query_port();
  std::memset(guest.response_slot(), 0xEE, kPage);
  const auto outcome = guest.run(request);
  ASSERT_TRUE(outcome.answered);
  EXPECT_EQ(outcome.response.header.ack, kAckFlag | QueryPort::kOpcode);
  EXPECT_EQ(outcome.response.header.err, 0);
  std::uint64_t sent = 0;
  std::memcpy(&sent, guest.command_slot(), sizeof sent);
  EXPECT_EQ(outcome.response.header.response, sent);
  // The driver copies 176 bytes out; what is beyond the answer must not be ours.
  for (std::size_t i = sizeof(QueryPortResponse); i < kResponseBytes; ++i) {
    EXPECT_EQ(guest.response_slot()[i], std::byte{0}) << "byte " << i;
  }
}

TEST_F(CommandChannel, C20_ResponseAndInterruptAreThereWhenTheWriteOfRequestIsAnswered) {
  FakePd& pd = guest.create_pd(guest.kernel());
  PageSet pages = guest.ram().allocate_set(64 * 1024, Layout::kContiguous);  // many slices
  ASSERT_EQ(guest.submit(query_port()), 0u);
  EXPECT_EQ(machine.take_interrupt(kVectorResponse), 1u);
  const std::uint64_t turns = rig.turns();
  ASSERT_EQ(guest.submit(guest.mr_request(pd, 0, 64 * 1024 * kPage, pages)), 0u);
  EXPECT_GT(rig.turns(), turns + 1) << "registration is sliced";
  EXPECT_EQ(machine.take_interrupt(kVectorResponse), 1u);
  EXPECT_EQ(rig.device().objects().memory_regions, 1u);
  guest.ram().release_set(pages);
}

TEST_F(CommandChannel, C21_OneInterruptPerResponseCommandEvenWhenItFails) {
  EXPECT_EQ(interrupts_for(query_port(), 0), 1u);
  QueryPort bad = query_port();
  bad.port_num = 9;
  const std::uint32_t err = guest.submit(bad);
  rig.settle();
  EXPECT_EQ(machine.take_interrupt(kVectorResponse), err == 0 ? 1u : 0u);
  ModifyQp nobody{};
  nobody.qp_handle = 4242;
  nobody.attr_mask = kMaskState;
  EXPECT_EQ(interrupts_for(nobody, 0), 1u) << "MODIFY_QP reports through its response";
}

TEST_F(CommandChannel, C21_NoInterruptForCommandsWithoutResponse) {
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FakeQp& qp = guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq});
  const CreateMrResponse mr = guest.create_dma_mr(pd);
  FakeContext& context = guest.open_context();
  CreateBind bind{};
  bind.index = 5;
  bind.gid_type = guest.caps().gid_types;
  bind.new_gid[15] = 7;
  DestroyBind unbind{};
  unbind.index = 5;
  EXPECT_EQ(interrupts_for(bind, 0), 0u);
  EXPECT_EQ(interrupts_for(unbind, 0), 0u);
  EXPECT_EQ(interrupts_for(DestroyQp{.header = {}, .handle = qp.handle, .reserved = 0}, 0), 0u);
  EXPECT_EQ(interrupts_for(DestroyMr{.header = {}, .handle = mr.mr_handle, .reserved = 0}, 0), 0u);
  EXPECT_EQ(interrupts_for(DestroyCq{.header = {}, .handle = cq.handle, .reserved = 0}, 0), 0u);
  EXPECT_EQ(interrupts_for(DestroyPd{.header = {}, .handle = pd.handle, .reserved = 0}, 0), 0u);
  EXPECT_EQ(interrupts_for(DestroyUc{.header = {}, .handle = context.handle, .reserved = 0}, 0),
            0u);
}

TEST_F(CommandChannel, C21_NoInterruptForRefusedCommandsWithoutResponse) {
  const std::uint32_t nobody = 12345;
  EXPECT_EQ(interrupts_for(DestroyPd{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(DestroyMr{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(DestroyCq{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(DestroyQp{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(DestroyUc{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(DestroySrq{.header = {}, .handle = nobody, .reserved = 0}, 1), 0u);
  EXPECT_EQ(interrupts_for(ModifySrq{}, 1), 0u);
}

TEST_F(CommandChannel, C22_TheSlotMayBeOverwrittenAfterTheErrRead) {
  FakePd& pd = guest.create_pd(guest.kernel());
  PageSet pages = guest.ram().allocate_set(4096, Layout::kScattered);
  const CreateMr request = guest.mr_request(pd, 0x1000, 4096ull * kPage, pages);
  ASSERT_EQ(guest.submit(request), 0u);
  std::memset(guest.command_slot(), 0xFF, kRequestBytes);
  CreateMrResponse response{};
  ASSERT_TRUE(guest.await(std::as_writable_bytes(std::span(&response, 1))));
  EXPECT_EQ(response.header.ack, kAckFlag | CreateMr::kOpcode);
  EXPECT_NE(response.lkey, 0u);
  EXPECT_EQ(rig.device().objects().memory_regions, 1u);
}

TEST_F(CommandChannel, C23_BytesBeyondTheCommandHaveNoEffect) {
  for (const std::byte filler : {std::byte{0x00}, std::byte{0x5A}, std::byte{0xFF}}) {
    std::array<std::byte, kRequestBytes> slot{};
    slot.fill(filler);
    QueryPort port = query_port();
    port.header.cmd = QueryPort::kOpcode;
    std::memcpy(slot.data(), &port, sizeof port);
    ASSERT_EQ(guest.submit_bytes(slot), 0u);
    QueryPortResponse response{};
    ASSERT_TRUE(guest.await(std::as_writable_bytes(std::span(&response, 1))));
    EXPECT_EQ(response.header.ack, kAckFlag | QueryPort::kOpcode);
    EXPECT_EQ(response.attrs.gid_tbl_len, guest.caps().gid_tbl_len);
  }
}

TEST_F(CommandChannel, C24_AFailedCreateIsVisibleAndLeavesNothing) {
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  PageSet pages = guest.ram().allocate_set(8, Layout::kContiguous);
  const device::DeviceObjects before = rig.device().objects();
  CreatePd no_context{};
  no_context.handle = 77;
  EXPECT_TRUE(guest.run(no_context).refused());
  CreateCq no_pages = guest.cq_request(guest.kernel(), 64, pages);
  no_pages.pdir_dma = 0;
  EXPECT_TRUE(guest.run(no_pages).refused());
  CreateMr no_domain = guest.mr_request(pd, 0, 4096, pages);
  no_domain.pd_handle = 999;
  EXPECT_TRUE(guest.run(no_domain).refused());
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  CreateQp no_queue = guest.qp_request(spec, pages);
  no_queue.recv_cq_handle = 999;
  EXPECT_TRUE(guest.run(no_queue).refused());
  EXPECT_TRUE(guest.run(guest.context_request(0)).refused());
  EXPECT_TRUE(guest.run(CreateSrq{}).refused());
  EXPECT_TRUE(guest.run(QuerySrq{}).refused());
  EXPECT_TRUE(guest.run(ResizeCq{}).refused());
  EXPECT_TRUE(same_objects(rig.device().objects(), before));
}

TEST_F(CommandChannel, C24_WhatTheGuestCannotLearnOfDoesNotExist) {
  FakeContext& process = guest.open_context();
  FakePd& pd = guest.create_pd(process);
  FakeCq& cq = guest.create_cq(process, 16);
  PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  const device::DeviceObjects before = rig.device().objects();
  const std::uint64_t slot = guest.response_address();
  machine.unmap_part(slot, kPage);
  CreatePd domain{};
  domain.handle = process.handle;
  EXPECT_EQ(interrupts_for(domain, 0), 0u);
  EXPECT_EQ(interrupts_for(guest.cq_request(process, 64, pages), 0), 0u);
  EXPECT_EQ(interrupts_for(guest.mr_request(pd, 0x1000, 4096, pages), 0), 0u);
  EXPECT_EQ(interrupts_for(guest.srq_request({.pd = &pd}, pages), 0), 0u);
  EXPECT_EQ(interrupts_for(guest.qp_request(spec, pages), 0), 0u);
  EXPECT_EQ(interrupts_for(guest.context_request(guest.next_uar_page()), 0), 0u);
  EXPECT_TRUE(same_objects(rig.device().objects(), before));
  ASSERT_TRUE(machine.map_part(slot, kPage).has_value());
  EXPECT_TRUE(guest.run(guest.qp_request(spec, pages)).accepted());
}

TEST_F(CommandChannel, C25_AFailedModifyReportsAndChangesNothing) {
  FakeEnd end(guest);
  QpAttributes attributes = FakeGuest::garbage_attributes();
  attributes.qp_state = kStateRts;
  ModifyQp leap{};
  leap.qp_handle = end.qp().handle;
  leap.attr_mask = kMaskState;
  leap.attrs = attributes;
  const auto outcome = guest.run(leap);
  ASSERT_TRUE(outcome.answered);
  EXPECT_EQ(outcome.response.header.ack, kAckFlag | ModifyQp::kOpcode);
  EXPECT_GT(outcome.response.header.err, 0);
  EXPECT_EQ(guest.query(end.qp()).qp_state, +kStateReset);
  ASSERT_TRUE(guest.to_init(end.qp()));
  EXPECT_FALSE(guest.to_rts(end.qp()));
  EXPECT_EQ(guest.query(end.qp()).qp_state, +kStateInit);
}

TEST_F(CommandChannel, C26_ANewRequestCancelsAnOwedOne) {
  FakePd& pd = guest.create_pd(guest.kernel());
  constexpr std::uint64_t kPages = 64 * 1024;  // many slices
  PageSet pages = guest.ram().allocate_set(kPages, Layout::kContiguous);
  ASSERT_EQ(guest.submit_posted(guest.mr_request(pd, 0, kPages * kPage, pages)), 0u);
  ASSERT_EQ(machine.take_interrupt(kVectorResponse), 0u) << "registration is sliced";
  const auto outcome = guest.run(query_port());
  EXPECT_TRUE(outcome.accepted());
  rig.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(machine.take_interrupt(kVectorResponse), 0u);
  EXPECT_EQ(rig.device().objects().memory_regions, 0u);
  guest.ram().release_set(pages);
}

TEST_F(CommandChannel, C39_DestroyReturnsOnlyAfterAllDmaStopped) {
  RigOptions options;
  options.vms = 2;
  options.budget = {.bytes = 64 << 10, .operations = 16};  // a long copy takes many turns
  TestRig pair(options);
  EndOptions big;
  big.buffer_bytes = 8 << 20;
  FakeEnd a(pair.guest(0), big);
  FakeEnd b(pair.guest(1), big);
  ASSERT_TRUE(connect(a, b));
  a.buffer().fill(std::byte{0x3C});
  ASSERT_TRUE(a.write(1, 0, 8 << 20, b.buffer()));
  for (int i = 0; i < 4; ++i) pair.advance(std::chrono::microseconds(0));
  ASSERT_TRUE(a.write(2, 0, 8 << 20, b.buffer()));
  pair.step();
  pair.guest(1).destroy(b.buffer());  // frees its pages at once; TestRig looks at them
  pair.guest(1).destroy(b.qp());
  pair.guest(0).destroy(a.buffer());
  pair.guest(0).destroy(a.qp());
  pair.advance(std::chrono::milliseconds(50));
  EXPECT_TRUE(pair.machine(0).ram().intact_after_free());
  EXPECT_TRUE(pair.machine(1).ram().intact_after_free());
}

}  // namespace
}  // namespace paravane::fake
