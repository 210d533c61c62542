// Conformance: capabilities and the port (device spec, C13-C19).

#include <bit>

#include "test_rig.h"

namespace paravane::fake {
namespace {

struct Booted {
  explicit Booted(std::uint32_t version = 20, verbs::GidType gids = verbs::GidType::kRoceV2)
      : rig(options(version, gids)), caps(rig.guest().caps()) {}
  static RigOptions options(std::uint32_t version, verbs::GidType gids) {
    RigOptions options;
    options.vms = 1;
    options.config.version = version;
    options.config.gid_type = gids;
    return options;
  }
  TestRig rig;
  Capabilities caps;
};

TEST(Conformance, C13_OneGidTypeRoceModeOnePort) {
  for (std::uint32_t version = 17; version <= 20; ++version) {
    const Booted v1(version, verbs::GidType::kRoceV1);
    EXPECT_EQ(v1.caps.gid_types, 1);
    EXPECT_EQ(v1.caps.mode, 0);
    EXPECT_EQ(v1.caps.phys_port_cnt, 1);
    if (version == 17) continue;
    const Booted v2(version, verbs::GidType::kRoceV2);
    EXPECT_EQ(v2.caps.gid_types, 2);
  }
}

TEST(Conformance, C13_Version17OffersRoceV1WhateverIsConfigured) {
  const Booted old(17, verbs::GidType::kRoceV2);
  EXPECT_EQ(old.caps.gid_types, 1);
}

TEST(Conformance, C14_DoorbellPagesFitBar2) {
  Booted booted;
  EXPECT_TRUE(std::has_single_bit(booted.caps.max_uar));
  EXPECT_LE(booted.caps.max_uar, booted.rig.device().spec().bars[2].size / kPage);
}

TEST(Conformance, C15_TableSizesAreWhatTheDriverSurvives) {
  const Booted booted;
  EXPECT_GE(booted.caps.max_qp, 2u);
  EXPECT_LE(booted.caps.max_qp, 65535u);
  EXPECT_GE(booted.caps.max_cq, 1u);
  EXPECT_LT(booted.caps.max_cq, 1u << 24);
  EXPECT_GE(booted.caps.max_pd, 1u);
  EXPECT_GE(booted.caps.max_ah, 1u);
  EXPECT_TRUE(std::has_single_bit(booted.caps.max_sge));
  EXPECT_GE(booted.caps.max_sge, 2u);
  EXPECT_LE(booted.caps.max_sge, 128u);
  EXPECT_GE(booted.caps.max_sge_rd, 1u);
  EXPECT_LE(booted.caps.max_sge_rd, booted.caps.max_sge);
  EXPECT_GE(booted.caps.max_qp_rd_atom, 1u);
}

TEST(Conformance, C16_RingLimitsArePowersOfTwoAndFitTheCommand) {
  const Booted booted;
  EXPECT_TRUE(std::has_single_bit(booted.caps.max_qp_wr));
  EXPECT_GE(booted.caps.max_qp_wr, 512u);
  EXPECT_TRUE(std::has_single_bit(booted.caps.max_cqe));
  EXPECT_GE(booted.caps.max_cqe, 1024u);
  EXPECT_TRUE(booted.caps.max_srq_wr == 0 || std::has_single_bit(booted.caps.max_srq_wr));
  const QpSpec largest{.max_send_wr = booted.caps.max_qp_wr,
                       .max_recv_wr = booted.caps.max_qp_wr,
                       .max_send_sge = booted.caps.max_sge,
                       .max_recv_sge = booted.caps.max_sge};
  EXPECT_LE(1 + largest.send_pages() + largest.receive_pages(), 65535u);
}

TEST(Conformance, C17_FastRegistrationIsOfferedWholeOrNotAtAll) {
  const Booted booted;
  EXPECT_TRUE(booted.caps.bmme_flags == 0 || booted.caps.bmme_flags == 7);
  EXPECT_TRUE(booted.caps.bmme_flags == 0 || booted.caps.max_fast_reg_page_list_len <= 128u);
}

TEST(Conformance, C18_PageSizePkeysAndGidTable) {
  const Booted booted;
  EXPECT_TRUE(booted.caps.page_size_cap & kPage);
  EXPECT_EQ(booted.caps.max_pkeys, 1);
  EXPECT_EQ(booted.caps.gid_tbl_len, 128u);
  EXPECT_NE(booted.caps.node_guid, 0u);
  EXPECT_EQ(booted.caps.device_cap_flags & ((1u << 15) | (1u << 17)), 0u);
}

TEST(Conformance, C18_GidTableIsAsLongAsTheVmIsGranted) {
  for (const std::uint32_t gids : {16u, 64u, 256u}) {
    RigOptions options = Booted::options(20, verbs::GidType::kRoceV2);
    options.config.limits.gids = gids;
    EXPECT_EQ(TestRig(options).guest().caps().gid_tbl_len, gids);
  }
}

// That of the network while there is one that packets go over; without one nothing is cut.
TEST(Conformance, C19_ActiveMtuIsWhatTheNetworkCarries) {
  Booted booted;
  FakeGuest& guest = booted.rig.guest();
  const auto active_mtu = [&guest] {
    QueryPort request{};
    request.port_num = 1;
    return guest.run(request).response.attrs.active_mtu;
  };
  EXPECT_EQ(active_mtu(), 5u);
  booted.rig.device().set_network_mtu(3);
  EXPECT_EQ(active_mtu(), 3u);
  booted.rig.device().set_network_mtu(std::nullopt);
  EXPECT_EQ(active_mtu(), 5u);
}

TEST(Conformance, C19_PortAgreesWithTheCapabilities) {
  Booted booted;
  FakeGuest& guest = booted.rig.guest();
  QueryPort request{};
  request.port_num = 1;
  const auto port = guest.run(request);
  ASSERT_TRUE(port.accepted());
  EXPECT_EQ(port.response.attrs.gid_tbl_len, booted.caps.gid_tbl_len);
  EXPECT_GE(port.response.attrs.pkey_tbl_len, 1);
  EXPECT_EQ(port.response.attrs.state, 4u);
  EXPECT_GE(port.response.attrs.active_mtu, 1u);
  EXPECT_LE(port.response.attrs.active_mtu, port.response.attrs.max_mtu);
  EXPECT_EQ(port.response.attrs.phys_state, 5);
  QueryPkey pkey{};
  pkey.port_num = 1;
  const auto first = guest.run(pkey);
  ASSERT_TRUE(first.accepted());
  EXPECT_EQ(first.response.pkey, 0xFFFF);
  pkey.index = static_cast<std::uint8_t>(port.response.attrs.pkey_tbl_len);
  EXPECT_TRUE(guest.run(pkey).refused());
  request.port_num = 2;
  EXPECT_TRUE(guest.run(request).refused());
  request.port_num = 0;
  EXPECT_TRUE(guest.run(request).refused());
}

}  // namespace
}  // namespace paravane::fake
