#include "ipoib/group_report.h"

#include <gtest/gtest.h>

#include <string>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

using Kind = GroupMessage::Kind;
using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;

constexpr Ipv4Address kGroup{239, 1, 2, 3};
constexpr std::string_view kGroup6 = "ff020000000000000000000100020003";

Bytes mended(Bytes message) {
  message[2] = message[3] = std::byte{0};
  const Be16 checksum(checksum_of(message));
  std::memcpy(&message[2], &checksum, sizeof checksum);
  return message;
}
GroupMessage igmp(std::string_view hex, std::uint16_t flags_fragment = 0) {
  return read_igmp(ipv4_packet(
      {.protocol = ip_protocol::kIgmp, .flags_fragment = flags_fragment, .options = "94040000"},
      mended(bytes_of(hex))));
}
// Behind the option that has routers look at it.
Bytes mld_packet(std::string_view hex, const Ipv6Fields& fields) {
  Bytes message = bytes_of(hex);
  message[2] = message[3] = std::byte{0};
  const Be16 checksum(
      icmpv6_checksum(address_of<16>(fields.source), address_of<16>(fields.destination), message));
  std::memcpy(&message[2], &checksum, sizeof checksum);
  return ipv6_packet({.source = fields.source,
                      .destination = fields.destination,
                      .next_header = 0,
                      .hop_limit = fields.hop_limit},
                     joined(bytes_of("3a00050200000100"), message));
}
GroupMessage mld(const std::string& hex, const Ipv6Fields& fields = {.hop_limit = 1}) {
  return read_mld(mld_packet(hex, fields));
}
std::vector<GroupNews> news(const IpGroup& group, bool is_wanted) {
  return {{.group = group, .is_wanted = is_wanted}};
}
IpGroup group6() {
  return address_of<16>(kGroup6);
}

// ---- IGMP ----

TEST(GroupReport, ReportsOfIgmpsFirstTwoVersionsAndALeaveAreRead) {
  for (const std::string_view type : {"12000000", "16000000"}) {
    const auto message = igmp(std::string(type) + "ef010203");
    EXPECT_EQ(message.kind, Kind::kReport) << type;
    EXPECT_EQ(message.news, news(kGroup, true)) << type;
  }
  const auto left = igmp("17000000 ef010203");
  EXPECT_EQ(left.kind, Kind::kReport);
  EXPECT_EQ(left.news, news(kGroup, false));
}

// As Linux sends it when a program joins: RFC 3376's own layout, one record of type 4.
TEST(GroupReport, AReportOfLinuxIsRead) {
  const auto packet = bytes_of(
      "46c00028 00004000 0102 f9f8 0a000001 e0000016 94040000 2200 e8f9 00000001 04000000 "
      "ef010203");
  const auto message = read_igmp(packet);
  EXPECT_EQ(message.kind, Kind::kReport) << hex_of(packet);
  EXPECT_EQ(message.news, news(kGroup, true));
}

TEST(GroupReport, EachRecordSaysWhetherItsGroupIsWanted) {
  const std::string sources = "0a000001 0a000002";
  const auto record = [&](int type, bool has_sources) {
    return igmp("22000000 00000001 0" + std::to_string(type) + "00" +
                (has_sources ? "0002 ef010203" + sources : "0000 ef010203"))
        .news;
  };
  for (const int type : {1, 3}) {
    EXPECT_EQ(record(type, false), news(kGroup, false)) << type;
    EXPECT_EQ(record(type, true), news(kGroup, true)) << type;
  }
  for (const int type : {2, 4}) {
    EXPECT_EQ(record(type, false), news(kGroup, true)) << type;
    EXPECT_EQ(record(type, true), news(kGroup, true)) << type;
  }
  EXPECT_EQ(record(5, true), news(kGroup, true));
  for (const int type : {0, 6, 7}) EXPECT_TRUE(record(type, true).empty()) << type;
}

TEST(GroupReport, RecordsFollowEachOtherBehindTheirSourcesAndMore) {
  const auto message = igmp(
      "22000000 00000003 04010001 ef010203 0a000001 01020304"
      "04000000 e0000001"
      "03000000 efffffff");
  EXPECT_EQ(message.kind, Kind::kReport);
  const std::vector<GroupNews> expected{{.group = kGroup, .is_wanted = true},
                                        {.group = Ipv4Address{239, 255, 255, 255}}};
  EXPECT_EQ(message.news, expected) << "224.0.0.1 is of all";
}

TEST(GroupReport, AReportThatEndsEarlyIsBad) {
  const std::string whole = "22000000 00000002 04000001 ef010203 0a000001 04000000 ef010204";
  ASSERT_EQ(igmp(whole).kind, Kind::kReport);
  const Bytes bytes = bytes_of(plain_hex(whole));
  for (std::size_t size = 4; size < bytes.size(); ++size) {
    const std::string cut = hex_of(std::span(bytes).first(size));
    EXPECT_EQ(igmp(cut).kind, Kind::kBad) << size;
  }
  EXPECT_EQ(igmp("22000000 0000ffff 04000000 ef010203").kind, Kind::kBad);
  EXPECT_EQ(igmp("22000000 00000001 0400ffff ef010203").kind, Kind::kBad);
  EXPECT_EQ(igmp("22000000 00000001 04ff0000 ef010203").kind, Kind::kBad);
  EXPECT_EQ(igmp("16000000").kind, Kind::kBad);
}

TEST(GroupReport, WhatNamesNoGroupIsBad) {
  EXPECT_EQ(igmp("16000000 0a000001").kind, Kind::kBad);
  EXPECT_EQ(igmp("17000000 00000000").kind, Kind::kBad);
  EXPECT_EQ(igmp("22000000 00000001 04000000 0a000001").kind, Kind::kBad);
}

TEST(GroupReport, IgmpWithAWrongChecksumOrInAFragmentIsBad) {
  Bytes message = mended(bytes_of("16000000 ef010203"));
  message[7] ^= std::byte{1};
  const Ipv4Fields fields{.protocol = ip_protocol::kIgmp};
  EXPECT_EQ(read_igmp(ipv4_packet(fields, message)).kind, Kind::kBad);
  for (const std::uint16_t fragment : {std::uint16_t{0x2000}, std::uint16_t{1}})
    EXPECT_EQ(igmp("16000000 ef010203", fragment).kind, Kind::kBad) << fragment;
}

TEST(GroupReport, OfQueriesOneForAllIsTold) {
  EXPECT_EQ(igmp("11640000 00000000").kind, Kind::kQuery);
  EXPECT_EQ(igmp("11640000 00000000 027d0000").kind, Kind::kQuery);
  EXPECT_EQ(igmp("110a0000 ef010203 027d0000").kind, Kind::kNone);
  EXPECT_EQ(igmp("13000000 00000000").kind, Kind::kNone);
  EXPECT_EQ(mld("82000000 27100000" + std::string(32, '0')).kind, Kind::kQuery);
  EXPECT_EQ(mld("82000000 03e80000" + std::string(kGroup6)).kind, Kind::kNone);
}

TEST(GroupReport, OtherPacketsAreNone) {
  EXPECT_EQ(read_igmp({}).kind, Kind::kNone);
  EXPECT_EQ(read_mld({}).kind, Kind::kNone);
  const Bytes udp = ipv4_packet({}, bytes_of("16000000 ef010203"));
  EXPECT_EQ(read_igmp(udp).kind, Kind::kNone);
  EXPECT_EQ(mld("80000000 00000000" + std::string(32, '0')).kind, Kind::kNone) << "an echo";
  EXPECT_EQ(read_mld(ipv6_packet({}, {})).kind, Kind::kNone);
}

// ---- MLD ----

TEST(GroupReport, MldIsRead) {
  const std::string group(kGroup6);
  EXPECT_EQ(mld("83000000 00000000" + group).news, news(group6(), true));
  EXPECT_EQ(mld("84000000 00000000" + group).news, news(group6(), false));
  EXPECT_EQ(mld("8f000000 00000001 04000000" + group).news, news(group6(), true));
  EXPECT_EQ(mld("8f000000 00000001 03000000" + group).news, news(group6(), false));
  EXPECT_EQ(mld("8f000000 00000001 03000001" + group + std::string(kNodeIpv6)).news,
            news(group6(), true));
}

TEST(GroupReport, ANodeWithoutAnAddressReports) {
  constexpr std::string_view kNone = "00000000000000000000000000000000";
  const std::string group(kGroup6);
  const Ipv6Fields fields{.source = kNone, .hop_limit = 1};
  EXPECT_EQ(mld("8f000000 00000001 04000000" + group, fields).kind, Kind::kReport);
  EXPECT_EQ(mld("82000000 27100000" + std::string(32, '0'), fields).kind, Kind::kBad);
}

TEST(GroupReport, GroupsThatAreAllsOrStayInANodeAreLeftOut) {
  for (const std::string_view group :
       {"ff020000000000000000000000000001", "ff010000000000000000000000000002",
        "ff000000000000000000000000000002"}) {
    const auto message = mld("83000000 00000000" + std::string(group));
    EXPECT_EQ(message.kind, Kind::kReport) << group;
    EXPECT_TRUE(message.news.empty()) << group;
  }
  EXPECT_EQ(mld("83000000 00000000" + std::string(kNodeIpv6)).kind, Kind::kBad);
}

TEST(GroupReport, MldThatWasRoutedIsBad) {
  const std::string report = "83000000 00000000" + std::string(kGroup6);
  EXPECT_EQ(mld(report, {.hop_limit = 2}).kind, Kind::kBad);
  EXPECT_EQ(mld(report, {.source = "20010db8000000000000000000000001", .hop_limit = 1}).kind,
            Kind::kBad);
}

TEST(GroupReport, MldThatEndsEarlyOrHasAWrongChecksumIsBad) {
  const std::string whole =
      "8f000000 00000001 04000001" + std::string(kGroup6) + std::string(kNodeIpv6);
  ASSERT_EQ(mld(whole).kind, Kind::kReport);
  const Bytes bytes = bytes_of(plain_hex(whole));
  for (std::size_t size = 4; size < bytes.size(); ++size)
    EXPECT_EQ(mld(hex_of(std::span(bytes).first(size))).kind, Kind::kBad) << size;
  EXPECT_EQ(mld("83000000 00000000 ff02").kind, Kind::kBad);
  Bytes packet = mld_packet(whole, {.hop_limit = 1});
  packet.back() ^= std::byte{1};
  EXPECT_EQ(read_mld(packet).kind, Kind::kBad);
}

}  // namespace
}  // namespace paravane::ipoib
