// Seeds for roce_frame_fuzz: a packet of each opcode over each network, frames with tags and
// padding, and superframes.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz_bytes.h"
#include "testing/roce_frames.h"

namespace {

using paravane::fake::frame_of;
using paravane::fake::FrameBytes;
using paravane::fake::merged;
using paravane::fake::packet_of;
using paravane::fake::payload_of;
using paravane::fake::SeedBytes;
using paravane::wire::roce::carries_payload;
using paravane::wire::roce::Network;
using paravane::wire::roce::Opcode;
using paravane::wire::roce::Packet;

using Seed = std::vector<std::uint8_t>;

Seed seed_of(const FrameBytes& frame, bool mends, std::uint32_t segment_bytes) {
  SeedBytes seed;
  seed.u8(mends ? 1 : 0).u16(segment_bytes);
  for (const std::byte byte : frame) seed.u8(std::to_integer<std::uint32_t>(byte));
  return seed.bytes();
}

// Packets of one flow, each with 24 bytes of transport headers and payload.
FrameBytes superframe_of(Network network, std::uint32_t packets, std::uint32_t last_bytes) {
  std::vector<FrameBytes> frames;
  for (std::uint32_t i = 0; i < packets; ++i) {
    Packet packet = packet_of(network, Opcode::kSendOnly, 1);
    packet.psn = i;
    if (network == Network::kV2Ipv4) packet.identification = static_cast<std::uint16_t>(65534 + i);
    frames.push_back(frame_of(packet, payload_of(i + 1 < packets ? 8 : last_bytes, i)));
  }
  return merged(frames);
}
constexpr std::uint32_t kSegmentBytes = 12 + 8 + 4;

std::vector<Seed> seeds() {
  std::vector<Seed> seeds;
  std::uint32_t number = 0;
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (const Opcode opcode : paravane::fake::all_opcodes()) {
      ++number;
      const std::size_t bytes = carries_payload(opcode) ? number % 9 : 0;
      FrameBytes frame = frame_of(packet_of(network, opcode, number), payload_of(bytes, number));
      seeds.push_back(seed_of(frame, number % 2 == 0, 0));
      if (number % 5 != 0) continue;
      const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{0}};
      frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
      seeds.push_back(seed_of(frame, true, 0));
    }
  }
  FrameBytes padded = frame_of(packet_of(Network::kV2Ipv4, Opcode::kSendOnly, 1), {});
  padded.resize(60);
  seeds.push_back(seed_of(padded, true, 0));
  for (const Network network : {Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (const bool mends : {false, true}) {
      seeds.push_back(seed_of(superframe_of(network, 3, 8), mends, kSegmentBytes));
      seeds.push_back(seed_of(superframe_of(network, 5, 1), mends, kSegmentBytes));
      seeds.push_back(seed_of(superframe_of(network, 1, 8), mends, kSegmentBytes));
      seeds.push_back(seed_of(superframe_of(network, 3, 0), mends, kSegmentBytes + 1));
    }
  }
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const Seed& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
