#include "wire/roce/probe.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/roce_frames.h"
#include "wire/roce/frame.h"
#include "wire/roce/header_at.h"

namespace paravane::wire::roce {
namespace {

ProbeNonce nonce_of(std::uint8_t first) {
  ProbeNonce nonce;
  for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = std::byte(first + i);
  return nonce;
}

TEST(ProbeTest, IsReadAsItWasWritten) {
  EXPECT_EQ(read_probe(probe_payload(nonce_of(5))), nonce_of(5));
}

TEST(ProbeTest, OfAnotherManufacturerIsNone) {
  const ProbePayload good = probe_payload(nonce_of(5));
  for (std::size_t at = 0; at < kProbeMaker.size(); ++at) {
    ProbePayload other = good;
    other[at] ^= std::byte{1};
    EXPECT_EQ(read_probe(other), std::nullopt) << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(read_probe(std::span(good).first(size)), std::nullopt) << size;
  }
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.push_back({});
  EXPECT_EQ(read_probe(longer), std::nullopt);
}

// What a foreign machine looks at first: a code of the manufacturers', and no queue pair.
TEST(ProbeTest, IsAPacketThatNoQueuePairTakes) {
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (const Opcode opcode : {Opcode::kProbe, Opcode::kProbeAnswer}) {
      const Route route = fake::packet_of(network, Opcode::kSendOnly, 7).route;
      const fake::FrameBytes frame =
          fake::frame_of(probe_packet(opcode, route), probe_payload(nonce_of(9)));
      const auto base = header_at<BaseHeader>(frame, fake::base_at(network));
      EXPECT_GE(base.opcode, 0xC0);
      EXPECT_EQ(base.destination_qp.get(), 0u);
      EXPECT_EQ(base.pkey.get(), kDefaultPkey);
      const auto parsed = parse_frame(frame);
      ASSERT_TRUE(parsed);
      EXPECT_EQ(parsed->packet.opcode, opcode);
      EXPECT_EQ(parsed->packet.route, route);
      EXPECT_EQ(read_probe(parsed->payload), nonce_of(9));
    }
  }
}

}  // namespace
}  // namespace paravane::wire::roce
