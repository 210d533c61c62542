// Conformance: datagrams, Q_Keys and the GRH area (device spec, C66, C67).

#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kGrh = 40;
constexpr std::uint32_t kKey = 0x1234567;

EndOptions datagrams(bool kernel = false, std::uint8_t type = kTypeUd) {
  EndOptions options;
  options.kernel = kernel;
  options.queues.type = type;
  options.queues.max_send_sge = 2;
  return options;
}

// Two ends in RTS that may talk.
struct DatagramPair {
  explicit DatagramPair(const RigOptions& options = {}, const EndOptions& ends = datagrams())
      : rig(options), a(rig.guest(0), ends), b(rig.guest(1), ends) {
    EXPECT_TRUE(rig.guest(0).start_datagrams(a.qp(), kKey));
    EXPECT_TRUE(rig.guest(1).start_datagrams(b.qp(), kKey));
  }
  bool send(std::uint64_t wr_id, std::uint32_t bytes, std::uint32_t qkey = kKey,
            std::uint8_t gid_index = 0) {
    const pvrdma_av av =
        rig.guest(0).address_vector(a.pd(), rig.guest(1).gid(gid_index), gid_index);
    return a.post(
        {.wr_id = wr_id, .remote_qpn = b.qp().number, .remote_qkey = qkey, .av = &av, .sges = {}},
        0, bytes);
  }
  TestRig rig;
  FakeEnd a;
  FakeEnd b;
};

TEST(Conformance, C66_DatagramsArriveBehindFortyBytes) {
  DatagramPair pair;
  pair.a.buffer().fill_pattern(3);
  ASSERT_TRUE(pair.b.receive(7, 0, 2048));
  ASSERT_TRUE(pair.send(8, 1000));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, +PVRDMA_WC_SUCCESS);
  EXPECT_EQ(received->wr_id, 7u);
  EXPECT_EQ(received->byte_len, 1000 + kGrh);
  EXPECT_EQ(received->src_qp, pair.a.qp().number);
  EXPECT_NE(received->wc_flags & PVRDMA_WC_GRH, 0u);
  EXPECT_EQ(received->wc_flags & (PVRDMA_WC_WITH_SMAC | PVRDMA_WC_WITH_VLAN), 0u);
  EXPECT_EQ(received->port_num, 1);
  EXPECT_EQ(pair.b.buffer().load(kGrh, 1000), pair.a.buffer().load(0, 1000));
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C66_AWrongQkeyIsDroppedAndCounted) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(7, 0, 2048));
  ASSERT_TRUE(pair.send(1, 64, kKey + 1));
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(pair.b.cq().unconsumed(), 0u);
  EXPECT_EQ(pair.rig.device(1).adapter().counters().qkey_violations.value(), 1u);
  QueryPort port{};
  port.port_num = 1;
  EXPECT_EQ(pair.rig.guest(1).run(port).response.attrs.qkey_viol_cntr, 1u);
  ASSERT_TRUE(pair.send(2, 64));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wr_id, 7u) << "the drop took no receive";
}

TEST(Conformance, C66_QkeyWithTheTopBitMeansTheQueuePairsOwn) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(7, 0, 2048));
  ASSERT_TRUE(pair.send(1, 64, 0x8001'0000));
  EXPECT_EQ(next_status(pair.rig, pair.b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C66_DatagramsThatNobodyTakesAreDropped) {
  DatagramPair pair;
  ASSERT_TRUE(pair.send(1, 64));  // no receive is posted
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  const GidBytes nobody = gid_of_ipv4({203, 0, 113, 9});
  const pvrdma_av av = pair.rig.guest(0).address_vector(pair.a.pd(), nobody);
  ASSERT_TRUE(pair.a.post(
      {.wr_id = 2, .remote_qpn = 77, .remote_qkey = kKey, .av = &av, .sges = {}}, 0, 64));
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  ASSERT_TRUE(pair.b.receive(3, 0, kGrh + 63));  // one byte too small
  ASSERT_TRUE(pair.send(4, 64));
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(pair.rig.guest(0).query(pair.a.qp()).qp_state, +kStateRts);
}

// The receive is kept for a shorter datagram, and its slot is the guest's again.
TEST(Conformance, C66_TheSlotOfAReceiveThatIsTooShortIsFreeAfterTheTurn) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(3, 0, kGrh + 63));  // one byte too small
  ASSERT_TRUE(pair.send(4, 64));
  EXPECT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(pair.b.cq().unconsumed(), 0u);
  EXPECT_EQ(pair.b.qp().receive_ring().head(), 1u);
  ASSERT_TRUE(pair.send(5, 63));
  EXPECT_EQ(next_status(pair.rig, pair.b.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(pair.b.qp().receive_ring().head(), 1u);
}

TEST(Conformance, C66_AnAddressVectorOfAnotherDomainIsRefused) {
  DatagramPair pair;
  pvrdma_av av = pair.rig.guest(0).address_vector(pair.a.pd(), pair.rig.guest(1).gid());
  av.port_pd = (av.port_pd & 0xFF000000) | (pair.a.pd().handle + 1);
  ASSERT_TRUE(pair.b.receive(1, 0, 2048));
  ASSERT_TRUE(pair.a.post(
      {.wr_id = 2, .remote_qpn = pair.b.qp().number, .remote_qkey = kKey, .av = &av, .sges = {}}, 0,
      64));
  const std::uint32_t status = next_status(pair.rig, pair.a.cq());
  EXPECT_TRUE(status == PVRDMA_WC_LOC_PROT_ERR || status == PVRDMA_WC_LOC_QP_OP_ERR) << status;
  EXPECT_EQ(pair.b.cq().unconsumed(), 0u);
}

TEST(Conformance, C66_GsiDatagramsReachQueuePairOne) {
  DatagramPair pair({}, datagrams(true, kTypeGsi));
  ASSERT_EQ(pair.b.qp().number, 1u);
  ASSERT_TRUE(pair.b.receive(7, 0, 296));
  const pvrdma_av av = pair.rig.guest(0).address_vector(pair.a.pd(), pair.rig.guest(1).gid());
  const pvrdma_sge pieces[] = {pair.a.buffer().sge(0, 24), pair.a.buffer().sge(512, 232)};
  ASSERT_TRUE(pair.a.qp().post_send(
      {.wr_id = 1, .remote_qpn = 1, .remote_qkey = kKey, .av = &av, .sges = pieces}));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->byte_len, 296u);
  EXPECT_EQ(received->src_qp, 1u);
  EXPECT_EQ(received->pkey_index, 0);
}

// ---- What kernel and provider read out of the 40 bytes ----

enum class Header { kGrhV1, kIpv4, kIpv6 };

std::uint8_t at(FakeEnd& end, std::uint64_t offset) {
  return static_cast<std::uint8_t>(*end.buffer().at(offset));
}

bool good_ipv4_checksum(FakeEnd& end) {
  std::uint32_t sum = 0;
  for (std::uint64_t i = 20; i < 40; i += 2) sum += at(end, i) * 256u + at(end, i + 1);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

// The guest's own detection when a completion names no header type.
Header detect(FakeEnd& end) {
  const bool ipv6 = at(end, 0) >> 4 == 6;
  const bool ipv4 = at(end, 20) >> 4 == 4;
  if (!ipv6 && ipv4) return Header::kIpv4;
  if (ipv6 && (at(end, 20) & 0xF) == 5 && ipv4 && good_ipv4_checksum(end)) return Header::kIpv4;
  return at(end, 6) == 17 ? Header::kIpv6 : Header::kGrhV1;
}

GidBytes gid_at(FakeEnd& end, std::uint64_t offset) {
  GidBytes gid{};
  for (std::size_t i = 0; i < gid.size(); ++i) gid[i] = at(end, offset + i);
  return gid;
}
GidBytes ipv4_at(FakeEnd& end, std::uint64_t offset) {
  return gid_of_ipv4(
      {at(end, offset), at(end, offset + 1), at(end, offset + 2), at(end, offset + 3)});
}

TEST(Conformance, C67_GrhAreaOfRoceV1) {
  RigOptions options;
  options.config.gid_type = verbs::GidType::kRoceV1;
  DatagramPair pair(options);
  for (std::uint8_t index = 0; index < 2; ++index) {
    ASSERT_TRUE(pair.b.receive(1, 0, 2048));
    ASSERT_TRUE(pair.send(2, 100, kKey, index));
    const auto received = next_completion(pair.rig, pair.b.cq());
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(detect(pair.b), Header::kGrhV1);
    EXPECT_EQ(at(pair.b, 6), 0x1B);
    EXPECT_EQ(gid_at(pair.b, 8), pair.rig.guest(0).gid(index));
    EXPECT_EQ(gid_at(pair.b, 24), pair.rig.guest(1).gid(index));
    ASSERT_EQ(next_status(pair.rig, pair.a.cq()), PVRDMA_WC_SUCCESS);
  }
}

TEST(Conformance, C67_GrhAreaOfRoceV2OverIpv4) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(1, 0, 2048));
  ASSERT_TRUE(pair.send(2, 100, kKey, 1));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(detect(pair.b), Header::kIpv4);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(at(pair.b, i), 0);
  EXPECT_EQ(at(pair.b, 20), 0x45);
  EXPECT_EQ(at(pair.b, 29), 17);
  EXPECT_TRUE(good_ipv4_checksum(pair.b));
  EXPECT_EQ(ipv4_at(pair.b, 32), pair.rig.guest(0).gid(1));
  EXPECT_EQ(ipv4_at(pair.b, 36), pair.rig.guest(1).gid(1));
}

TEST(Conformance, C67_GrhAreaOfRoceV2OverIpv6) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(1, 0, 2048));
  ASSERT_TRUE(pair.send(2, 100, kKey, 0));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(detect(pair.b), Header::kIpv6);
  EXPECT_EQ(gid_at(pair.b, 8), pair.rig.guest(0).gid(0));
  EXPECT_EQ(gid_at(pair.b, 24), pair.rig.guest(1).gid(0));
}

TEST(Conformance, C67_KernelCompletionsNameTheHeaderRightIfTheyNameIt) {
  DatagramPair pair({}, datagrams(true, kTypeGsi));
  ASSERT_TRUE(pair.b.receive(1, 0, 2048));
  const pvrdma_av av = pair.rig.guest(0).address_vector(pair.a.pd(), pair.rig.guest(1).gid(1), 1);
  ASSERT_TRUE(pair.a.post({.wr_id = 2, .remote_qpn = 1, .remote_qkey = kKey, .av = &av, .sges = {}},
                          0, 256));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  const bool named = (received->wc_flags & PVRDMA_WC_WITH_NETWORK_HDR_TYPE) != 0;
  EXPECT_TRUE(!named || received->network_hdr_type == PVRDMA_NETWORK_IPV4);
}

TEST(Conformance, C67_ProcessCompletionsNeverCarryKernelFlags) {
  DatagramPair pair;
  ASSERT_TRUE(pair.b.receive(1, 0, 2048));
  ASSERT_TRUE(pair.send(2, 100));
  const auto received = next_completion(pair.rig, pair.b.cq());
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wc_flags & ~std::uint32_t{PVRDMA_WC_GRH | PVRDMA_WC_WITH_IMM}, 0u);
}

}  // namespace
}  // namespace paravane::fake
