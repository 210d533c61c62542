// Frames that are refused, and why: any that is cut or changed, but for what may change on the way.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "testing/roce_frames.h"
#include "wire/roce/frame.h"
#include "wire/roce/header_at.h"

namespace paravane::wire::roce {
namespace {

using fake::base_at;
using fake::frame_of;
using fake::FrameBytes;
using fake::kNetworkAt;
using fake::packet_of;
using fake::payload_of;

struct SampleFrame {
  Network network{};
  Packet packet;
  FrameBytes payload;
  FrameBytes bytes;
};

// Of each opcode over each network, with payload of several lengths; none is padded.
std::vector<SampleFrame> sample_frames() {
  std::vector<SampleFrame> samples;
  std::uint32_t number = 100;
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (const Opcode opcode : fake::all_opcodes()) {
      for (const std::size_t bytes : {0u, 7u, 40u}) {
        if (bytes > 0 && !carries_payload(opcode)) continue;
        ++number;
        SampleFrame sample{.network = network,
                           .packet = packet_of(network, opcode, number),
                           .payload = payload_of(bytes, number),
                           .bytes = {}};
        sample.bytes = frame_of(sample.packet, sample.payload);
        sample.packet.payload_bytes = static_cast<std::uint32_t>(bytes);
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

std::optional<FrameFault> fault_of_frame(std::span<const std::byte> bytes) {
  const auto frame = parse_frame(bytes);
  return frame ? std::nullopt : std::optional(frame.error());
}

// Bytes of the wire as a number, for changes.
std::uint16_t number_at(const FrameBytes& bytes, std::size_t at) {
  return header_at<Be16>(bytes, at).get();
}
void set_number(FrameBytes& bytes, std::size_t at, unsigned value) {
  bytes[at] = std::byte((value >> 8) & 0xFF);
  bytes[at + 1] = std::byte(value & 0xFF);
}

// Mends what a stranger would mend who makes up a frame, so that nothing else is wrong with it.
std::optional<FrameFault> fault_when_mended(Network network, FrameBytes bytes) {
  if (network == Network::kV2Ipv4) fake::mend_checksum(bytes);
  fake::mend_icrc(network, bytes);
  return fault_of_frame(bytes);
}

// ---- Any bit ----

// What the receiver must see when one bit changes on the way that the CRC does not cover. nullopt:
// the CRC covers it.
std::optional<Packet> after_flip(const SampleFrame& sample, std::size_t at, unsigned bit) {
  Packet packet = sample.packet;
  Route& route = packet.route;
  const auto mask = static_cast<std::uint8_t>(1u << bit);
  const std::size_t network_at = at - kNetworkAt;
  const std::size_t base = base_at(sample.network);
  if (at < 6) {
    route.destination_mac[at] ^= mask;
  } else if (at < 12) {
    route.source_mac[at - 6] ^= mask;
  } else if (at < kNetworkAt) {
    return std::nullopt;
  } else if (at == base + offsetof(BaseHeader, reserved)) {
    packet.fecn ^= mask == kFecn;
    packet.becn ^= mask == kBecn;
  } else if (at >= base) {
    return std::nullopt;
  } else if (sample.network != Network::kV1 && at >= base - 2) {
    return packet;  // the UDP checksum
  } else if (sample.network == Network::kV2Ipv4) {
    if (network_at == offsetof(Ipv4Header, type_of_service)) {
      route.traffic_class ^= mask;
    } else if (network_at == offsetof(Ipv4Header, time_to_live)) {
      route.hop_limit ^= mask;
    } else {
      return std::nullopt;
    }
  } else if (network_at == offsetof(LongHeader, hop_limit)) {
    route.hop_limit ^= mask;
  } else if (network_at < 4 && (network_at > 0 || bit < 4)) {
    const std::uint32_t flipped = std::uint32_t{mask} << (8 * (3 - network_at));
    route.flow_label ^= flipped & kFlowLabelMask;
    route.traffic_class ^= static_cast<std::uint8_t>(flipped >> 20);
  } else {
    return std::nullopt;
  }
  return packet;
}

void expect_after_flip(const SampleFrame& sample, std::size_t at, unsigned bit) {
  FrameBytes bytes = sample.bytes;
  bytes[at] ^= std::byte(1u << bit);
  const auto expected = after_flip(sample, at, bit);
  const bool in_ipv4_header = sample.network == Network::kV2Ipv4 && at >= kNetworkAt &&
                              at < kNetworkAt + sizeof(Ipv4Header);
  if (in_ipv4_header) {
    ASSERT_TRUE(fault_of_frame(bytes).has_value());  // its own checksum
    fake::mend_checksum(bytes);
  }
  const auto frame = parse_frame(bytes);
  const bool is_checksum = in_ipv4_header && at - kNetworkAt >= offsetof(Ipv4Header, checksum) &&
                           at - kNetworkAt < offsetof(Ipv4Header, source);
  if (at == 6 && bit == 0) {
    ASSERT_FALSE(frame.has_value());
    EXPECT_EQ(frame.error(), FrameFault::kBadAddress);
  } else if (expected || is_checksum) {
    ASSERT_TRUE(frame.has_value()) << "fault " << static_cast<int>(frame.error());
    EXPECT_EQ(frame->packet, expected.value_or(sample.packet));
    EXPECT_TRUE(std::ranges::equal(frame->payload, sample.payload));
  } else {
    EXPECT_FALSE(frame.has_value());
  }
}

TEST(FrameRefusalTest, OfEveryChangedBitThatTheCrcCovers) {
  const auto samples = sample_frames();
  EXPECT_GE(samples.size(), 190u);
  for (const SampleFrame& sample : samples) {
    for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        expect_after_flip(sample, at, bit);
        if (HasFailure()) {
          FAIL() << "opcode " << static_cast<int>(sample.packet.opcode) << ", network "
                 << static_cast<int>(sample.network) << ", byte " << at << ", bit " << bit;
        }
      }
    }
  }
}

TEST(FrameRefusalTest, OfEveryCutFrame) {
  for (const SampleFrame& sample : sample_frames()) {
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      // A copy, so that the sanitizer sees what is read behind it.
      const FrameBytes cut(sample.bytes.begin(),
                           sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto fault = fault_of_frame(cut);
      ASSERT_TRUE(fault.has_value()) << size;
      const bool has_headers = size >= base_at(sample.network);
      EXPECT_EQ(*fault, has_headers ? FrameFault::kBadLength : FrameFault::kTooShort) << size;
    }
  }
}

TEST(FrameRefusalTest, OfPayloadThatIsNotWhatTheCrcCovers) {
  for (const SampleFrame& sample : sample_frames()) {
    if (sample.payload.empty()) continue;
    FrameBytes bytes = sample.bytes;
    bytes[bytes.size() - kIcrcBytes - sample.payload.size()] ^= std::byte{1};
    EXPECT_EQ(fault_of_frame(bytes), FrameFault::kBadIcrc);
    fake::mend_icrc(sample.network, bytes);
    EXPECT_EQ(fault_of_frame(bytes), std::nullopt);
  }
}

TEST(FrameRefusalTest, OfBytesBehindThePacket) {
  for (const SampleFrame& sample : sample_frames()) {
    FrameBytes bytes = sample.bytes;
    bytes.resize(std::max(bytes.size() + 1, kMinFrameBytes + 1));
    EXPECT_EQ(fault_of_frame(bytes), FrameFault::kBadLength);
  }
}

// ---- Network headers ----

TEST(FrameRefusalTest, OfOtherProtocols) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    const FrameBytes good = frame_of(packet_of(network, Opcode::kSendOnly, 1), payload_of(8, 1));
    for (const unsigned type : {0x0806u, 0x88CCu, 0x88A8u, 0x0600u, 0x0040u}) {
      FrameBytes bytes = good;
      set_number(bytes, 12, type);
      EXPECT_EQ(fault_of_frame(bytes), FrameFault::kNotRoce);
    }
    if (network == Network::kV1) {
      FrameBytes bytes = good;
      bytes[kNetworkAt + offsetof(LongHeader, next_header)] = std::byte{kProtocolUdp};
      EXPECT_EQ(fault_when_mended(network, bytes), FrameFault::kNotRoce);
      continue;
    }
    for (const unsigned port : {0u, 53u, 4790u, 4792u, 0xB712u}) {
      FrameBytes bytes = good;
      set_number(bytes, base_at(network) - 6, port);
      EXPECT_EQ(fault_when_mended(network, bytes), FrameFault::kNotRoce);
    }
    const std::size_t protocol_at = network == Network::kV2Ipv4 ? offsetof(Ipv4Header, protocol)
                                                                : offsetof(LongHeader, next_header);
    for (const unsigned protocol : {1u, 6u, 58u, 0x1Bu, 255u}) {
      FrameBytes bytes = good;
      bytes[kNetworkAt + protocol_at] = std::byte(protocol);
      EXPECT_EQ(fault_when_mended(network, bytes), FrameFault::kNotRoce);
    }
  }
}

TEST(FrameRefusalTest, OfAnotherVersionOfIp) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    const FrameBytes good = frame_of(packet_of(network, Opcode::kSendOnly, 1), payload_of(8, 1));
    const unsigned version = network == Network::kV2Ipv4 ? 4 : 6;
    for (unsigned other = 0; other < 16; ++other) {
      if (other == version) continue;
      FrameBytes bytes = good;
      bytes[kNetworkAt] = std::byte((other << 4) | 5);
      EXPECT_EQ(fault_when_mended(network, bytes), FrameFault::kBadIpVersion) << other;
    }
  }
}

TEST(FrameRefusalTest, OfIpOptions) {
  const FrameBytes good =
      frame_of(packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1), payload_of(8, 1));
  for (unsigned words = 0; words < 16; ++words) {
    FrameBytes bytes = good;
    bytes[kNetworkAt] = std::byte(0x40 | words);
    const auto fault = words < 5   ? std::optional(FrameFault::kBadLength)
                       : words > 5 ? std::optional(FrameFault::kIpOptions)
                                   : std::nullopt;
    EXPECT_EQ(fault_when_mended(Network::kV2Ipv4, bytes), fault) << words;
  }
  // As a sender would really have them.
  FrameBytes bytes = good;
  bytes.insert(bytes.begin() + kNetworkAt + sizeof(Ipv4Header), 4, std::byte{1});
  bytes[kNetworkAt] = std::byte{0x46};
  set_number(bytes, kNetworkAt + 2, number_at(good, kNetworkAt + 2) + 4u);
  EXPECT_EQ(fault_of_frame(bytes), FrameFault::kIpOptions);
}

TEST(FrameRefusalTest, OfExtensionHeadersOfIpv6) {
  const FrameBytes good =
      frame_of(packet_of(Network::kV2Ipv6, Opcode::kSendOnly, 1), payload_of(8, 1));
  const auto with_header = [&](unsigned kind, std::uint8_t next) {
    FrameBytes bytes = good;
    bytes.insert(bytes.begin() + kNetworkAt + sizeof(LongHeader), 8, std::byte{0});
    bytes[kNetworkAt + offsetof(LongHeader, next_header)] = std::byte(kind);
    bytes[kNetworkAt + sizeof(LongHeader)] = std::byte{next};
    set_number(bytes, kNetworkAt + 4, number_at(good, kNetworkAt + 4) + 8u);
    return fault_of_frame(bytes);
  };
  for (const unsigned kind : {0u, 43u, 60u}) {
    EXPECT_EQ(with_header(kind, kProtocolUdp), FrameFault::kIpOptions);
    EXPECT_EQ(with_header(kind, 58), FrameFault::kNotRoce);  // as MLD has it
  }
  EXPECT_EQ(with_header(44, kProtocolUdp), FrameFault::kFragment);
  EXPECT_EQ(with_header(44, 6), FrameFault::kNotRoce);
  EXPECT_EQ(with_header(6, kProtocolUdp), FrameFault::kNotRoce);
  FrameBytes cut(good.begin(), good.begin() + kNetworkAt + sizeof(LongHeader));
  cut[kNetworkAt + offsetof(LongHeader, next_header)] = std::byte{0};
  EXPECT_EQ(fault_of_frame(cut), FrameFault::kNotRoce);
}

TEST(FrameRefusalTest, OfFragments) {
  const FrameBytes good =
      frame_of(packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1), payload_of(8, 1));
  for (const unsigned bits : {0x2000u, 0x6000u, 0x0001u, 0x4001u, 0x1FFFu, 0x2010u, 0x8000u}) {
    FrameBytes bytes = good;
    set_number(bytes, kNetworkAt + offsetof(Ipv4Header, flags_fragment), bits);
    EXPECT_EQ(fault_when_mended(Network::kV2Ipv4, bytes), FrameFault::kFragment) << bits;
  }
  for (const unsigned bits : {0x0000u, 0x4000u}) {
    FrameBytes bytes = good;
    set_number(bytes, kNetworkAt + offsetof(Ipv4Header, flags_fragment), bits);
    EXPECT_EQ(fault_when_mended(Network::kV2Ipv4, bytes), std::nullopt) << bits;
  }
}

TEST(FrameRefusalTest, OfAWrongHeaderChecksum) {
  FrameBytes bytes = frame_of(packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1), payload_of(8, 1));
  set_number(bytes, kNetworkAt + 10, number_at(bytes, kNetworkAt + 10) + 1u);
  EXPECT_EQ(fault_of_frame(bytes), FrameFault::kBadChecksum);
  set_number(bytes, kNetworkAt + 10, 0);
  EXPECT_EQ(fault_of_frame(bytes), FrameFault::kBadChecksum);
}

TEST(FrameRefusalTest, OfEveryOtherLength) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    const FrameBytes good = frame_of(packet_of(network, Opcode::kSendOnly, 1), payload_of(64, 1));
    std::set<std::size_t> fields = {kNetworkAt + (network == Network::kV2Ipv4 ? 2u : 4u)};
    if (network != Network::kV1) fields.insert(base_at(network) - 4);
    for (const std::size_t at : fields) {
      const unsigned right = number_at(good, at);
      for (unsigned length = 0; length <= 0xFFFF; ++length) {
        if (length == right) continue;
        FrameBytes bytes = good;
        set_number(bytes, at, length);
        if (network == Network::kV2Ipv4) fake::mend_checksum(bytes);
        ASSERT_EQ(fault_of_frame(bytes), FrameFault::kBadLength) << at << ' ' << length;
      }
    }
  }
}

// Both lengths of v2 say less than there is; what is left out is not read.
TEST(FrameRefusalTest, OfLengthsThatAgreeOnlyWithEachOther) {
  const FrameBytes good =
      frame_of(packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1), payload_of(64, 1));
  const unsigned total = number_at(good, kNetworkAt + 2);
  for (unsigned less = 0; less <= total; ++less) {
    FrameBytes bytes = good;
    set_number(bytes, kNetworkAt + 2, less);
    set_number(bytes, base_at(Network::kV2Ipv4) - 4, less - unsigned{sizeof(Ipv4Header)});
    fake::mend_checksum(bytes);
    const auto fault = less == total ? std::nullopt : std::optional(FrameFault::kBadLength);
    ASSERT_EQ(fault_of_frame(bytes), fault) << less;
    // Nor if the bytes end where the lengths say.
    if (less < total) {
      bytes.resize(kNetworkAt + less);
      ASSERT_NE(fault_of_frame(bytes), std::nullopt) << less;
    }
  }
}

TEST(FrameRefusalTest, OfSourcesThatNoHostHas) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    const Packet good = packet_of(network, Opcode::kSendOnly, 1);
    std::vector<Packet> bad(4, good);
    bad[0].route.source_mac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    bad[1].route.source_mac = {0x01, 0, 0x5E, 0, 0, 1};
    if (network == Network::kV2Ipv4) {
      bad[2].route.source[12] = 224;
      std::fill(bad[3].route.source.begin() + 12, bad[3].route.source.end(), std::uint8_t{0xFF});
      for (const int first : {0, 127, 240}) {
        bad.push_back(good);
        bad.back().route.source[12] = static_cast<std::uint8_t>(first);
      }
    } else {
      bad[2].route.source[0] = 0xFF;
      bad[3].route.source = {};
      bad.push_back(good);
      bad.back().route.source = {};
      bad.back().route.source[15] = 1;
    }
    for (const Packet& packet : bad) {
      EXPECT_EQ(fault_of_frame(frame_of(packet, {})), FrameFault::kBadAddress);
    }
  }
}

TEST(FrameRefusalTest, OfIpv4AddressesInIpv6) {
  const Packet ipv4 = packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1);
  Packet packet = packet_of(Network::kV2Ipv6, Opcode::kSendOnly, 1);
  packet.route.source = ipv4.route.source;
  EXPECT_EQ(fault_of_frame(frame_of(packet, {})), FrameFault::kBadAddress);
  packet = packet_of(Network::kV2Ipv6, Opcode::kSendOnly, 1);
  packet.route.destination = ipv4.route.destination;
  EXPECT_EQ(fault_of_frame(frame_of(packet, {})), FrameFault::kBadAddress);
}

// ---- Transport headers ----

TEST(FrameRefusalTest, OfUnknownOpcodes) {
  const auto known = fake::all_opcodes();
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (unsigned code = 0; code < 256; ++code) {
      FrameBytes bytes = frame_of(packet_of(network, Opcode::kSendOnly, 1), payload_of(64, 1));
      bytes[base_at(network)] = std::byte(code);
      const auto fault = fault_when_mended(network, bytes);
      const bool is_known = std::ranges::find(known, static_cast<Opcode>(code)) != known.end();
      EXPECT_EQ(fault == FrameFault::kUnknownOpcode, !is_known) << code;
      if (is_known) {
        const auto expected = carries_payload(static_cast<Opcode>(code))
                                  ? std::nullopt
                                  : std::optional(FrameFault::kPayloadNotAllowed);
        EXPECT_EQ(fault, expected) << code;
      }
    }
  }
}

TEST(FrameRefusalTest, OfOtherTransportVersions) {
  for (unsigned version = 1; version < 16; ++version) {
    FrameBytes bytes = frame_of(packet_of(Network::kV1, Opcode::kSendOnly, 0), payload_of(8, 1));
    bytes[base_at(Network::kV1) + 1] |= std::byte(version);
    EXPECT_EQ(fault_when_mended(Network::kV1, bytes), FrameFault::kBadVersion) << version;
  }
}

TEST(FrameRefusalTest, OfMorePaddingThanBytes) {
  for (const SampleFrame& sample : sample_frames()) {
    for (unsigned pad = 1; pad < 4; ++pad) {
      FrameBytes bytes = sample.bytes;
      std::byte& flags = bytes[base_at(sample.network) + 1];
      flags = (flags & std::byte{0xCF}) | std::byte(pad << kPadShift);
      const auto fault = sample.payload.empty() ? std::optional(FrameFault::kBadPad) : std::nullopt;
      EXPECT_EQ(fault_when_mended(sample.network, bytes), fault);
    }
  }
}

TEST(FrameRefusalTest, OfPayloadWhereThereIsNone) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (const Opcode opcode : fake::all_opcodes()) {
      if (carries_payload(opcode)) continue;
      for (const std::size_t bytes : {1u, 4u, 4096u}) {
        EXPECT_EQ(fault_of_frame(frame_of(packet_of(network, opcode, 1), payload_of(bytes, 1))),
                  FrameFault::kPayloadNotAllowed);
      }
    }
  }
}

TEST(FrameRefusalTest, OfPayloadAboveTheLargestMtu) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    const Packet packet = packet_of(network, Opcode::kSendOnly, 1);
    EXPECT_EQ(fault_of_frame(frame_of(packet, payload_of(4097, 1))), FrameFault::kPayloadTooLong);
    EXPECT_EQ(fault_of_frame(frame_of(packet, payload_of(65000, 1))), FrameFault::kPayloadTooLong);
  }
}

// With lengths that agree: there is no room for what the opcode says, or half a word is left.
TEST(FrameRefusalTest, OfPacketsWithoutRoomForTheirHeaders) {
  for (const Opcode opcode : fake::all_opcodes()) {
    const std::size_t headers = sizeof(BaseHeader) + extension_bytes(extensions_of(opcode));
    FrameBytes bytes = frame_of(packet_of(Network::kV1, opcode, 1), {});
    for (std::size_t transport = headers + kIcrcBytes + 3; transport >= kIcrcBytes; --transport) {
      bytes.resize(base_at(Network::kV1) + transport);
      set_number(bytes, kNetworkAt + 4, static_cast<unsigned>(transport));
      std::optional<FrameFault> expected = FrameFault::kBadLength;
      if (transport == headers + kIcrcBytes) expected = std::nullopt;
      if (transport < headers + kIcrcBytes) expected = FrameFault::kTooShort;
      const auto fault = transport >= sizeof(BaseHeader) + kIcrcBytes
                             ? fault_when_mended(Network::kV1, bytes)
                             : fault_of_frame(bytes);
      EXPECT_EQ(fault, expected) << transport;
    }
  }
}

}  // namespace
}  // namespace paravane::wire::roce
