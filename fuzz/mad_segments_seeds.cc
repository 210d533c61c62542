// Seeds for mad_segments_fuzz: MADs of several lengths that arrive in good and bad order, and a
// hostile peer that sends whole MADs and answers some.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "mad_segments_script.h"

namespace {

using paravane::fake::SeedBytes;
using paravane::fake::SegmentAct;

using Seed = std::vector<std::uint8_t>;

std::uint32_t number(SegmentAct act) {
  return std::to_underlying(act);
}

Seed sent(std::uint32_t bytes, std::uint32_t how) {
  SeedBytes seed;
  seed.u8(number(SegmentAct::kSend)).u8(0).u16(bytes).u8(how);
  seed.u8(number(SegmentAct::kSend)).u8(1).u16(bytes / 2).u8(how);
  for (std::uint32_t i = 0; i < 12; ++i) {
    seed.u8(number(SegmentAct::kDeliver)).u8(5 + i);
    seed.u8(number(SegmentAct::kTurnBack)).u8(3 * i).u8(number(SegmentAct::kRepeat)).u8(i);
    if (i % 4 == 3) seed.u8(number(SegmentAct::kLose)).u8(i);
    if (i % 6 == 5) seed.u8(number(SegmentAct::kTime)).u16(2000);
  }
  seed.u8(number(SegmentAct::kForget)).u8(1).u8(number(SegmentAct::kTime)).u16(60'000);
  return seed.bytes();
}

void add_packet(SeedBytes& seed, std::uint32_t type, std::uint32_t flags, std::uint32_t of,
                std::uint32_t length) {
  seed.u8(number(SegmentAct::kPacket)).u8(0).u8(0).u8(1).u8(2).u8(0);
  seed.u8(type - 1).u8(flags).u8(0).u8(of).u8(length);
}

Seed hostile(std::uint32_t segments) {
  SeedBytes seed;
  for (std::uint32_t i = 1; i <= segments; ++i) {
    const std::uint32_t flags = 1 | (i == 1 ? 2U : 0U) | (i == segments ? 4U : 0U);
    add_packet(seed, 1, flags, i, i == segments ? 100 : 0);
  }
  add_packet(seed, 2, 1, 0, 7);
  seed.u8(number(SegmentAct::kSendHostile)).u8(0).u16(9000).u8(0x12).u8(2);
  for (std::uint32_t i = 0; i < 8; ++i) seed.u8(number(SegmentAct::kAckHostile)).u8(9 * i);
  add_packet(seed, 3 + segments % 2, 1, 0, 0);
  seed.u8(number(SegmentAct::kTime)).u16(45'000);
  return seed.bytes();
}

std::vector<Seed> seeds() {
  std::vector<Seed> seeds;
  for (const std::uint32_t bytes : {0U, 200U, 201U, 5000U, 22'400U, 29'000U}) {
    for (const std::uint32_t how : {0U, 1U, 2U, 5U}) seeds.push_back(sent(bytes, how));
  }
  for (const std::uint32_t segments : {1U, 2U, 3U, 70U, 150U}) seeds.push_back(hostile(segments));
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
