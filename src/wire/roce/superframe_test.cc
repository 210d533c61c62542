// Frames that the kernel has merged, or has not split yet.

#include "wire/roce/superframe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "testing/roce_frames.h"

namespace paravane::wire::roce {
namespace {

using fake::FrameBytes;

constexpr std::size_t kPayload = 1024;
constexpr std::size_t kOverhead = sizeof(BaseHeader) + kIcrcBytes;
constexpr std::size_t kSegment = kPayload + kOverhead;

// One flow's packets: middles of a write and its end, with `last` bytes. `step`: from one IPv4
// identification to the next.
class Flow {
 public:
  Flow(Network network, std::size_t packets, std::size_t last, std::uint16_t identification,
       std::size_t step = 1) {
    for (std::size_t i = 0; i < packets; ++i) {
      const bool ends = i + 1 == packets;
      Packet packet = fake::packet_of(network, ends ? Opcode::kWriteLast : Opcode::kWriteMiddle, 1);
      packet.psn = static_cast<std::uint32_t>(0xFFFF00 + i) & 0xFFFFFF;
      packet.wants_ack = ends;
      if (network == Network::kV2Ipv4) {
        packet.identification = static_cast<std::uint16_t>(identification + i * step);
      }
      packet.payload_bytes = static_cast<std::uint32_t>(ends ? last : kPayload);
      packets_.push_back(packet);
      payloads_.push_back(
          fake::payload_of(packet.payload_bytes, static_cast<std::uint32_t>(i * 3)));
      frames_.push_back(fake::frame_of(packet, payloads_.back()));
    }
  }

  FrameBytes superframe() const { return fake::merged(frames_); }
  const FrameBytes& frame(std::size_t i) const { return frames_[i]; }

  void expect_is_in(Superframe& superframe) const {
    ASSERT_EQ(superframe.segments(), packets_.size());
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      const auto frame = superframe.next();
      ASSERT_TRUE(frame.has_value()) << i;
      ASSERT_TRUE(frame->has_value()) << i << ": fault " << static_cast<int>(frame->error());
      EXPECT_EQ((*frame)->packet, packets_[i]) << i;
      EXPECT_TRUE(std::ranges::equal((*frame)->payload, payloads_[i])) << i;
    }
    EXPECT_FALSE(superframe.next().has_value());
    EXPECT_FALSE(superframe.next().has_value());
    EXPECT_EQ(superframe.segments(), packets_.size());
  }

 private:
  std::vector<Packet> packets_;
  std::vector<FrameBytes> payloads_;
  std::vector<FrameBytes> frames_;
};

void expect_holds(const Flow& flow) {
  const FrameBytes bytes = flow.superframe();
  auto superframe = Superframe::open(bytes, kSegment);
  ASSERT_TRUE(superframe.has_value()) << "fault " << static_cast<int>(superframe.error());
  flow.expect_is_in(*superframe);
}

std::optional<FrameFault> fault_of_opening(std::span<const std::byte> bytes, std::size_t segment) {
  const auto superframe = Superframe::open(bytes, segment);
  return superframe ? std::nullopt : std::optional(superframe.error());
}

TEST(SuperframeTest, HoldsThePacketsThatWereMerged) {
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (std::size_t packets = 2; packets <= 62; ++packets) {
      SCOPED_TRACE(packets);
      expect_holds(Flow(network, packets, kPayload, 7));
      expect_holds(Flow(network, packets, packets % 5, 7));
    }
    const Flow one(network, 1, kPayload, 7);
    EXPECT_EQ(one.superframe(), one.frame(0));
    expect_holds(one);
  }
}

TEST(SuperframeTest, HasIdentificationsThatWrap) {
  for (std::uint16_t first = 65530; first != 2; ++first) {
    SCOPED_TRACE(first);
    expect_holds(Flow(Network::kV2Ipv4, 9, 100, first));
  }
}

// As adapters send them: 0 in each packet.
TEST(SuperframeTest, HasOneIdentificationInAllPackets) {
  for (const std::uint16_t all : {std::uint16_t{0}, std::uint16_t{0xFFFF}}) {
    for (const std::size_t packets : {2U, 3U, 61U}) {
      SCOPED_TRACE(packets);
      expect_holds(Flow(Network::kV2Ipv4, packets, kPayload, all, 0));
      expect_holds(Flow(Network::kV2Ipv4, packets, 0, all, 0));
    }
  }
}

// A damaged packet does not decide which it is, and of others than the two all are damage.
TEST(SuperframeTest, HasIdentificationsThatAreAllCountedOrAllTheSame) {
  const auto good_of = [](const FrameBytes& bytes) {
    auto superframe = Superframe::open(bytes, kSegment);
    std::vector<bool> good;
    while (const auto frame = superframe->next()) good.push_back(frame->has_value());
    return good;
  };
  const std::size_t second = fake::base_at(Network::kV2Ipv4) + kSegment;
  for (const std::size_t step : {0U, 1U}) {
    FrameBytes bytes = Flow(Network::kV2Ipv4, 4, kPayload, 7, step).superframe();
    bytes[second + kSegment - 1] ^= std::byte{1};
    EXPECT_EQ(good_of(bytes), (std::vector{true, false, true, true})) << step;
  }
  EXPECT_EQ(good_of(Flow(Network::kV2Ipv4, 4, kPayload, 7, 2).superframe()),
            (std::vector{true, false, false, false}));
  // The third packet of one that counts, in one whose packets have all the same.
  for (const std::size_t step : {0U, 1U}) {
    FrameBytes bytes = Flow(Network::kV2Ipv4, 4, kPayload, 7, step).superframe();
    const FrameBytes other = Flow(Network::kV2Ipv4, 4, kPayload, 7, 1 - step).superframe();
    const auto third = static_cast<std::ptrdiff_t>(second + kSegment);
    std::copy_n(other.begin() + third, kSegment, bytes.begin() + third);
    EXPECT_EQ(good_of(bytes), (std::vector{true, true, false, true})) << step;
  }
}

TEST(SuperframeTest, IsWhatTheKernelSplits) {
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    const Flow flow(network, 5, 17, 65534);
    const FrameBytes bytes = flow.superframe();
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(fake::segment_of(network, bytes, kSegment, i), flow.frame(i)) << i;
    }
  }
}

// As large as IP allows.
TEST(SuperframeTest, HoldsThousandsOfTheSmallestPackets) {
  std::vector<FrameBytes> frames;
  for (std::size_t i = 0; i < (65535 - network_bytes(Network::kV2Ipv4)) / kOverhead; ++i) {
    Packet packet = fake::packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1);
    packet.identification = static_cast<std::uint16_t>(60000 + i);
    packet.psn = static_cast<std::uint32_t>(i);
    frames.push_back(fake::frame_of(packet, {}));
  }
  const FrameBytes bytes = fake::merged(frames);
  auto superframe = Superframe::open(bytes, kOverhead);
  ASSERT_TRUE(superframe.has_value());
  EXPECT_EQ(superframe->segments(), 4094u);
  for (std::uint32_t psn = 0; psn < frames.size(); ++psn) {
    const auto frame = superframe->next();
    ASSERT_TRUE(frame.has_value() && frame->has_value());
    EXPECT_EQ((*frame)->packet.psn, psn);
  }
  EXPECT_FALSE(superframe->next().has_value());
}

TEST(SuperframeTest, RefusesOnePacketAndNotTheOthers) {
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    const FrameBytes good = Flow(network, 3, kPayload, 1).superframe();
    const std::size_t second = fake::base_at(network) + kSegment;
    const auto faults_with = [&](std::size_t at, std::uint8_t bits) {
      FrameBytes bytes = good;
      bytes[at] ^= std::byte{bits};
      auto superframe = Superframe::open(bytes, kSegment);
      std::vector<std::optional<FrameFault>> faults;
      while (const auto frame = superframe->next()) {
        faults.push_back(*frame ? std::nullopt : std::optional((*frame).error()));
      }
      return faults;
    };
    const auto only = [](FrameFault fault) {
      return std::vector<std::optional<FrameFault>>{std::nullopt, fault, std::nullopt};
    };
    EXPECT_EQ(faults_with(second, 0xFF), only(FrameFault::kUnknownOpcode));
    EXPECT_EQ(faults_with(second + 1, 0x01), only(FrameFault::kBadVersion));
    EXPECT_EQ(faults_with(second + 50, 0x01), only(FrameFault::kBadIcrc));
    EXPECT_EQ(faults_with(second + kSegment - 1, 0x80), only(FrameFault::kBadIcrc));
    // Congestion on the way is not an error.
    EXPECT_EQ(faults_with(second + 4, 0x80), std::vector<std::optional<FrameFault>>(3));
  }
}

// The CRC covers the identification, so that merging out of order shows.
TEST(SuperframeTest, RefusesIdentificationsThatNeitherCountUpNorStay) {
  const Flow flow(Network::kV2Ipv4, 2, kPayload, 1, 2);
  const FrameBytes bytes = flow.superframe();
  auto superframe = Superframe::open(bytes, kSegment);
  ASSERT_TRUE(superframe.has_value());
  EXPECT_TRUE((*superframe->next()).has_value());
  const auto second = superframe->next();
  ASSERT_FALSE((*second).has_value());
  EXPECT_EQ((*second).error(), FrameFault::kBadIcrc);
}

TEST(SuperframeTest, RefusesWhatDisagreesWithItself) {
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    const FrameBytes bytes = Flow(network, 3, kPayload, 1).superframe();
    const std::size_t all = 3 * kSegment;
    for (std::size_t segment = 0; segment <= 0xFFFF; ++segment) {
      const bool fits = segment >= kOverhead && segment <= all &&
                        (all % segment == 0 || all % segment >= kOverhead);
      ASSERT_EQ(fault_of_opening(bytes, segment),
                fits ? std::nullopt : std::optional(FrameFault::kBadSegments))
          << segment;
    }
    EXPECT_EQ(fault_of_opening(bytes, SIZE_MAX), FrameFault::kBadSegments);
    EXPECT_EQ(fault_of_opening(std::span(bytes).first(bytes.size() - 1), kSegment),
              FrameFault::kBadLength);
    EXPECT_EQ(fault_of_opening(std::span(bytes).first(20), kSegment), FrameFault::kTooShort);
  }
}

TEST(SuperframeTest, RefusesWhatIsNotUdp) {
  const FrameBytes bytes =
      fake::frame_of(fake::packet_of(Network::kV1, Opcode::kSendOnly, 1), fake::payload_of(64, 1));
  EXPECT_EQ(fault_of_opening(bytes, 64 + kOverhead), FrameFault::kBadSegments);
}

// Any cut of the last packet is seen at the end or in that packet.
TEST(SuperframeTest, AnotherSegmentSizeIsNotTakenForTheRightOne) {
  const FrameBytes bytes = Flow(Network::kV2Ipv4, 3, kPayload, 1).superframe();
  for (std::size_t segment = kOverhead; segment <= 3 * kSegment; ++segment) {
    auto superframe = Superframe::open(bytes, segment);
    if (!superframe || segment == kSegment) continue;
    std::size_t left = superframe->segments();
    while (const auto frame = superframe->next()) {
      ASSERT_FALSE(frame->has_value()) << segment;
      --left;
    }
    EXPECT_EQ(left, 0u);
  }
}

}  // namespace
}  // namespace paravane::wire::roce
