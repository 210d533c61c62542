#include "sniff/route.h"

#include <gtest/gtest.h>

namespace paravane::sniff {
namespace {

using wire::roce::MacBytes;

constexpr verbs::Gid kOfMac{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x77, 0, 1}};
constexpr verbs::Gid kIpv4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 1}};
constexpr verbs::Gid kOtherIpv4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 2}};
constexpr MacBytes kOurs{0x52, 0x54, 0, 0x77, 0, 9};

TEST(RouteTest, KnowsTheMacThatAGidIsMadeOf) {
  EXPECT_EQ(mac_of(kOfMac), (MacBytes{0x52, 0x54, 0, 0x77, 0, 1}));
}

TEST(RouteTest, MakesAMacForOtherGids) {
  const MacBytes made = mac_of(kIpv4);
  EXPECT_EQ(made[0], 0x02);  // locally administered, and of one station
  EXPECT_EQ(made, mac_of(kIpv4));
  EXPECT_NE(made, mac_of(kOtherIpv4));
}

TEST(RouteTest, OfADatagram) {
  verbs::SendRequest request;
  request.remote_qpn = 5;
  request.av.dgid = kIpv4;
  request.av.dmac = {1, 2, 3, 4, 5, 6};
  request.av.traffic_class = 0x40;
  const verbs::DatagramSource source{.sgid = kOtherIpv4, .qpn = 4};
  const auto out = datagram_route(source, request, verbs::Direction::kOut, kOurs);
  EXPECT_EQ(out.network, wire::roce::Network::kV2Ipv4);
  EXPECT_EQ(out.source_mac, kOurs);
  EXPECT_EQ(out.destination_mac, request.av.dmac);
  EXPECT_EQ(out.source, kOtherIpv4.raw);
  EXPECT_EQ(out.traffic_class, 0x40);
  EXPECT_EQ(out.hop_limit, 64);
  const auto in = datagram_route(source, request, verbs::Direction::kIn, kOurs);
  EXPECT_EQ(in.source_mac, mac_of(kOtherIpv4));
  EXPECT_EQ(in.destination_mac, kOurs);
  EXPECT_EQ(in.destination, kIpv4.raw);
}

}  // namespace
}  // namespace paravane::sniff
