// Seeds for cable_fuzz: a host that says hello, takes the port up and sends packets; one that sends
// management; and one that flaps, takes nothing, and comes back.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cable_script.h"
#include "fuzz_bytes.h"

namespace {

using paravane::fake::CableAct;
using paravane::fake::SeedBytes;

using Seed = std::vector<std::uint8_t>;

std::uint32_t number(CableAct act) {
  return std::to_underlying(act);
}

SeedBytes connected() {
  SeedBytes seed;
  seed.u8(number(CableAct::kHello)).u8(1).u8(9);
  seed.u8(number(CableAct::kWord)).u8(1);
  seed.u8(number(CableAct::kOrder)).u8(1).u8(number(CableAct::kOrder)).u8(2);
  return seed;
}

Seed packets() {
  SeedBytes seed = connected();
  for (std::uint32_t i = 0; i < 12; ++i)
    seed.u8(number(CableAct::kPacket)).u8(i).u8(i % 6).u8(i * 9).u8(i).u8(i);
  seed.u8(number(CableAct::kSend)).u8(9).u8(1).u8(number(CableAct::kBeat));
  return seed.bytes();
}

Seed management() {
  SeedBytes seed = connected();
  for (std::uint32_t i = 0; i < 24; ++i)
    seed.u8(number(CableAct::kManagement)).u8(i % 2 == 0 ? 2 : 1).u8(0x10 + i).u8(i);
  return seed.bytes();
}

Seed mishaps() {
  SeedBytes seed = connected();
  seed.u8(number(CableAct::kRoom)).u16(7).u8(number(CableAct::kSend)).u8(200).u8(0);
  for (std::uint32_t i = 0; i < 6; ++i) {
    seed.u8(number(CableAct::kTime)).u16(700).u8(number(CableAct::kBeat));
    seed.u8(number(CableAct::kWord)).u8(i % 3);
  }
  seed.u8(number(CableAct::kReconnect)).u8(number(CableAct::kHello)).u8(1).u8(9);
  seed.u8(number(CableAct::kBytes)).u8(8).u32(0xFFFF'FFFF).u32(7);
  return seed.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : {packets(), management(), mishaps()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
