// Conformance: what the creating commands accept and refuse (device spec,
// C31, C32, C34-C37).

#include <algorithm>
#include <functional>

#include "test_rig.h"

namespace paravane::fake {
namespace {

class CreateObjects : public ::testing::Test {
 protected:
  static RigOptions one_vm() {
    RigOptions options;
    options.vms = 1;
    return options;
  }
  TestRig rig{one_vm()};
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  static constexpr std::uint64_t kNowhere = 0x77'0000'0000;
};

TEST_F(CreateObjects, C31_CreateCqEchoesItsEntries) {
  for (const std::uint32_t entries : {1u, 2u, 64u, 128u, 65536u}) {
    EXPECT_EQ(guest.create_cq(guest.kernel(), entries).entries(), entries);
  }
}

TEST_F(CreateObjects, C31_CreateCqRefusesBadGeometry) {
  PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
  const auto with = [&](std::uint32_t entries, std::uint32_t chunks) {
    CreateCq request = guest.cq_request(guest.kernel(), entries, pages);
    request.nchunks = chunks;
    return guest.run(request).accepted();
  };
  EXPECT_TRUE(with(128, 3));
  EXPECT_FALSE(with(0, 3));
  EXPECT_FALSE(with(3, 3));
  EXPECT_FALSE(with(100, 3));
  EXPECT_FALSE(with(128, 2)) << "too few pages";
  EXPECT_FALSE(with(128, 0));
  EXPECT_FALSE(with(0x80000000, 3));
  EXPECT_FALSE(with(guest.caps().max_cqe * 2, 1 + guest.caps().max_cqe * 2 / 64));
  EXPECT_FALSE(with(128, 0xFFFFFFFF));
  CreateCq stranger = guest.cq_request(guest.kernel(), 64, pages);
  stranger.ctx_handle = 4711;
  EXPECT_TRUE(guest.run(stranger).refused());
}

TEST_F(CreateObjects, C32_CreateQpRefusesGeometryThatDoesNotAddUp) {
  PageSet pages =
      guest.ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(), Layout::kContiguous);
  const CreateQp good = guest.qp_request(spec, pages);
  const auto refused = [&](const std::function<void(CreateQp&)>& bend) {
    CreateQp request = good;
    bend(request);
    return guest.run(request).refused();
  };
  EXPECT_TRUE(refused([](CreateQp& r) { r.send_chunks += 1; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.send_chunks = 0; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.total_chunks -= 1; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.total_chunks = 0; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.total_chunks = 0xFFFF; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_send_wr = 0; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_send_wr = 3; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_recv_wr = 0; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_recv_wr = 0x80000000; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_send_sge = 0x0FFFFFFF; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.max_recv_sge = 0x10000000; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.pdir_dma = kNowhere; }));
  EXPECT_TRUE(refused([](CreateQp& r) { r.pdir_dma += 8; }));
  EXPECT_TRUE(guest.run(good).accepted());
}

TEST_F(CreateObjects, C32_CreateQpRefusesAPageCountThatWrapsIn16Bits) {
  // 65536 + 3 pages, as the driver would truncate them.
  PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
  CreateQp request = guest.qp_request(spec, pages);
  request.max_send_wr = 1u << 21;  // 2^21 * 128 bytes = 65536 pages
  request.send_chunks = 0;
  request.total_chunks = 2;
  EXPECT_TRUE(guest.run(request).refused());
}

TEST_F(CreateObjects, C32_CreateQpRefusesUnknownTypesAndForeignObjects) {
  PageSet pages =
      guest.ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(), Layout::kContiguous);
  const CreateQp good = guest.qp_request(spec, pages);
  for (const int type : {0, 3, 5, 6, 7, 8, 9, 10, 255}) {
    CreateQp request = good;
    request.qp_type = static_cast<std::uint8_t>(type);
    EXPECT_TRUE(guest.run(request).refused()) << type;
  }
  FakeContext& process = guest.open_context();
  FakePd& process_pd = guest.create_pd(process);
  FakeCq& process_cq = guest.create_cq(process, 16);
  CreateQp mixed = good;
  mixed.pd_handle = process_pd.handle;
  EXPECT_TRUE(guest.run(mixed).refused()) << "a user PD with kernel queues";
  mixed = good;
  mixed.send_cq_handle = process_cq.handle;
  EXPECT_TRUE(guest.run(mixed).refused()) << "a kernel PD with a user queue";
  mixed = good;
  mixed.pd_handle = 31337;
  EXPECT_TRUE(guest.run(mixed).refused());
  FakeContext& other = guest.open_context();
  FakeCq& other_cq = guest.create_cq(other, 16);
  mixed = good;
  mixed.pd_handle = process_pd.handle;
  mixed.send_cq_handle = process_cq.handle;
  mixed.recv_cq_handle = other_cq.handle;
  EXPECT_TRUE(guest.run(mixed).refused()) << "another process's queue";
  mixed.recv_cq_handle = process_cq.handle;
  EXPECT_TRUE(guest.run(mixed).accepted());
}

TEST_F(CreateObjects, C34_CreateMrChecksItsPages) {
  PageSet pages = guest.ram().allocate_set(4, Layout::kScattered);
  const auto accepted = [&](std::uint64_t start, std::uint64_t length, std::uint32_t chunks) {
    CreateMr request = guest.mr_request(pd, start, length, pages);
    request.nchunks = chunks;
    return guest.run(request).accepted();
  };
  EXPECT_TRUE(accepted(0x7f0000001000, 4 * kPage, 4));
  EXPECT_TRUE(accepted(0x7f0000001800, 3 * kPage, 4)) << "unaligned: one page more";
  EXPECT_TRUE(accepted(0x7f0000001FFF, 2, 2));
  EXPECT_FALSE(accepted(0x7f0000001000, 4 * kPage, 3));
  EXPECT_FALSE(accepted(0x7f0000001000, 4 * kPage, 5));
  EXPECT_FALSE(accepted(0x7f0000001800, 3 * kPage, 3));
  EXPECT_FALSE(accepted(0x7f0000001000, 0, 0)) << "nothing to register";
  EXPECT_FALSE(accepted(0x7f0000001000, 0, 1));
  EXPECT_FALSE(accepted(0, ~0ull, 4));
  EXPECT_FALSE(accepted(~0ull - 100, 4096, 2)) << "wraps";
  EXPECT_FALSE(accepted(0, 4ull << 30, 0x100000)) << "above 1 GiB";
}

TEST_F(CreateObjects, C34_CreateMrIgnoresForeignAccessBits) {
  PageSet pages = guest.ram().allocate_set(1, Layout::kContiguous);
  CreateMr request = guest.mr_request(pd, 0, kPage, pages);
  request.access_flags = kAllAccess | 0x80 | (1u << 20) | (1u << 29);
  EXPECT_TRUE(guest.run(request).accepted());
  request.access_flags = kAllAccess | kZeroBased;
  EXPECT_TRUE(guest.run(request).refused()) << "zero-based addressing is not ignored";
  request.access_flags = kAllAccess;
  request.flags = 7;
  EXPECT_TRUE(guest.run(request).refused());
}

TEST_F(CreateObjects, C34_CreateMrValidatesEveryPageAddress) {
  for (const std::uint64_t bad : {std::uint64_t{0}, kNowhere, GuestRam::kBase + 8,
                                  ~std::uint64_t{0} << 12, GuestRam::kBase + guest.ram().size()}) {
    for (std::uint64_t at = 0; at < 4; ++at) {
      PageSet pages = guest.ram().allocate_set(4, Layout::kContiguous);
      guest.ram().as<std::uint64_t>(pages.tables[0] + 8 * at) = bad;
      EXPECT_TRUE(guest.run(guest.mr_request(pd, 0, 4 * kPage, pages)).refused())
          << std::hex << bad << " at " << at;
    }
  }
  EXPECT_EQ(rig.device().objects().memory_regions, 0u);
}

TEST_F(CreateObjects, C35_ADmaRegionNeedsNoGeometry) {
  const CreateMrResponse dma = guest.create_dma_mr(pd);
  EXPECT_GE(dma.lkey, 0x100u);
  CreateMr remote{};
  remote.pd_handle = pd.handle;
  remote.flags = kMrDma;
  remote.access_flags = kLocalWrite | kRemoteWrite;
  EXPECT_TRUE(guest.run(remote).refused()) << "all of memory is never open to peers";
}

TEST_F(CreateObjects, C35_ADmaRegionIsForTheKernelOnly) {
  FakePd& process_pd = guest.create_pd(guest.open_context());
  CreateMr request{};
  request.pd_handle = process_pd.handle;
  request.flags = kMrDma;
  request.access_flags = kLocalWrite;
  EXPECT_TRUE(guest.run(request).refused());
}

TEST_F(CreateObjects, C36_GidTableIsKept) {
  const GidBytes gid = gid_of_ipv4({192, 168, 7, 7});
  EXPECT_TRUE(guest.bind_gid(2, gid));
  EXPECT_TRUE(guest.bind_gid(2, gid_of_ipv4({192, 168, 7, 8}))) << "overwriting";
  EXPECT_TRUE(guest.bind_gid(3, gid_of_ipv4({192, 168, 7, 8}))) << "one GID at two indices";
  EXPECT_EQ(rig.device().objects().gids, 4u);
  EXPECT_TRUE(guest.unbind_gid(3));
  EXPECT_TRUE(guest.unbind_gid(3)) << "an empty index";
  EXPECT_EQ(rig.device().objects().gids, 3u);
  EXPECT_TRUE(guest.bind_gid(guest.caps().gid_tbl_len - 1, gid));
  EXPECT_FALSE(guest.bind_gid(guest.caps().gid_tbl_len, gid));
  EXPECT_FALSE(guest.bind_gid(0xFFFFFFFF, gid));
  EXPECT_FALSE(guest.unbind_gid(guest.caps().gid_tbl_len));
}

TEST_F(CreateObjects, C37_QueryQpTellsTheTruth) {
  spec.max_send_wr = 32;
  spec.max_recv_wr = 64;
  spec.max_send_sge = 2;
  spec.max_recv_sge = 4;
  FakeQp& qp = guest.create_qp(spec);
  FakeQp& peer = guest.create_qp(spec);
  QpAttributes attributes = guest.query(qp);
  EXPECT_EQ(attributes.qp_state, +kStateReset);
  EXPECT_EQ(attributes.cap.max_send_wr, 32u);
  EXPECT_EQ(attributes.cap.max_recv_wr, 64u);
  EXPECT_EQ(attributes.cap.max_send_sge, 2u);
  EXPECT_EQ(attributes.cap.max_recv_sge, 4u);
  const RcOptions options{.path_mtu = 3, .psn = 0xABCDE, .reads = 4, .timeout = 10};
  ASSERT_TRUE(guest.connect(qp, guest.gid(), peer.number, options));
  attributes = guest.query(qp);
  EXPECT_EQ(attributes.qp_state, +kStateRts);
  EXPECT_EQ(attributes.cur_qp_state, +kStateRts);
  EXPECT_EQ(attributes.path_mtu, 3u);
  EXPECT_EQ(attributes.rq_psn, 0xABCDEu);
  EXPECT_EQ(attributes.dest_qp_num, peer.number);
  EXPECT_EQ(attributes.qp_access_flags & kAllAccess, +kAllAccess);
  EXPECT_EQ(attributes.timeout, 10);
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_TRUE(std::ranges::equal(attributes.ah_attr.dgid, guest.gid()));
  ASSERT_TRUE(guest.to_state(qp, kStateErr));
  EXPECT_EQ(guest.query(qp).qp_state, +kStateErr);
  QueryQp nobody{};
  nobody.qp_handle = 9999;
  EXPECT_TRUE(guest.run(nobody).refused());
}

}  // namespace
}  // namespace paravane::fake
