// Seeds for device_management_fuzz: units that answer rightly, with much and with little to say;
// and units that lie, are silent and late.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "device_management_script.h"
#include "fuzz_bytes.h"

namespace {

using paravane::fake::DiscoveryAct;
using paravane::fake::SeedBytes;

using Seed = std::vector<std::uint8_t>;

void start(SeedBytes& seed, std::uint32_t units) {
  seed.u8(std::to_underlying(DiscoveryAct::kStart)).u8(units);
}
SeedBytes& answer(SeedBytes& seed, std::uint32_t question, std::uint32_t lies = 0) {
  return seed.u8(std::to_underlying(DiscoveryAct::kAnswer)).u8(question).u8(lies);
}
void pass(SeedBytes& seed, std::uint32_t milliseconds) {
  seed.u8(std::to_underlying(DiscoveryAct::kTime)).u16(milliseconds);
}

Seed right() {
  SeedBytes seed;
  start(seed, 1);
  answer(seed, 0).u8(16).u8(0x10).u8(0);
  answer(seed, 0).u8(1).u8(9);
  for (int i = 0; i < 3; ++i) answer(seed, 0).u8(5).u8(10).u8(3).u8(15);
  start(seed, 40);
  for (std::uint32_t i = 0; i < 16; ++i) answer(seed, i).u8(255).u8(0x11).u8(0x11);
  for (int i = 0; i < 16; ++i) answer(seed, 0).u8(1).u8(255).u8(5).u8(5);
  pass(seed, 5000);
  return seed.bytes();
}

Seed wrong() {
  SeedBytes seed;
  start(seed, 3);
  for (std::uint32_t lie = 1; lie < 32; lie *= 2)
    answer(seed, lie % 3, lie).u32(0x0109'0307).u32(0x1111'1111);
  answer(seed, 0, 8).u16(0x0C00);
  pass(seed, 600);
  seed.u8(std::to_underlying(DiscoveryAct::kRoom)).u8(0);
  pass(seed, 600);
  seed.u8(std::to_underlying(DiscoveryAct::kRoom)).u8(200);
  answer(seed, 1).u8(2).u8(0x1F).u8(0);
  answer(seed, 1).u8(2).u8(0x1F).u8(0);
  pass(seed, 700);
  answer(seed, 0).u8(0).u8(2);
  answer(seed, 0).u8(5).u8(1).u8(2).u8(4);
  seed.u8(std::to_underlying(DiscoveryAct::kBytes)).u8(1).u8(20).u32(0x8101'0601).u32(0);
  seed.u32(0).u32(0).u32(0x1000);
  start(seed, 255);
  pass(seed, 30000);
  seed.u8(std::to_underlying(DiscoveryAct::kStop));
  answer(seed, 0).u8(1).u8(0x10).u8(0);
  return seed.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : {right(), wrong()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
