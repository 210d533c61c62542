// Seeds for srp_session_fuzz: a target that answers as it should, one that aborts and resets, and
// one that sends requests of its own and does not take the answers.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "srp_script.h"

namespace {

using paravane::fake::SeedBytes;
using paravane::fake::SrpAct;

using Seed = std::vector<std::uint8_t>;

std::uint32_t number(SrpAct act) {
  return std::to_underlying(act);
}

// Numbers are picked from a table by one byte: 0 is 0, 1 is 1, 2 is 2, 6 is 63.
void answer(SeedBytes& seed, SrpAct act, std::uint32_t flags, std::uint32_t status,
            std::uint32_t sense, std::uint32_t response, std::uint32_t bytes) {
  seed.u8(number(act)).u8(0).u8(flags).u8(status);
  seed.u8(1).u8(0).u8(0).u8(sense).u8(response).u8(bytes);
  for (std::uint32_t i = 0; i < bytes; ++i) seed.u8(i == 0 ? 0x70 : i);
}

Seed commands() {
  SeedBytes seed;
  seed.u8(16);
  for (std::uint32_t i = 0; i < 12; ++i) {
    seed.u8(number(SrpAct::kSubmit)).u8(i).u8(i).u8(i);
    if (i % 2 == 1) answer(seed, SrpAct::kAnswer, 0, 0, 0, 0, 0);
    if (i % 4 == 3) answer(seed, SrpAct::kAnswer, 2, 2, 3, 0, 18);
  }
  return seed.bytes();
}

Seed management() {
  SeedBytes seed;
  seed.u8(30);
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (std::uint32_t j = 0; j < 3; ++j) seed.u8(number(SrpAct::kSubmit)).u8(j).u8(1).u8(3);
    seed.u8(number(SrpAct::kManage)).u8(i).u8(i).u8(i);
    seed.u8(number(SrpAct::kAnswerTask)).u8(0).u8(1).u8(0);
    seed.u8(1).u8(0).u8(0).u8(0).u8(31).u32(4).u8(4).u32(i == 3 ? 0x0500'0000 : 0);
  }
  return seed.bytes();
}

Seed requests() {
  SeedBytes seed;
  seed.u8(4).u8(number(SrpAct::kRoom)).u8(2);
  for (std::uint32_t i = 0; i < 8; ++i) {
    seed.u8(number(SrpAct::kCredits)).u8(i % 3);
    seed.u8(number(SrpAct::kEvent)).u8(0).u8(i).u8(18);
    for (std::uint32_t j = 0; j < 18; ++j) seed.u8(j == 0 ? 0x72 : j + i);
  }
  seed.u8(number(SrpAct::kRoom)).u8(9).u8(number(SrpAct::kFlush));
  seed.u8(number(SrpAct::kLogout)).u32(4);
  return seed.bytes();
}

Seed lies() {
  SeedBytes seed;
  seed.u8(8).u8(number(SrpAct::kSubmit)).u8(0).u8(1).u8(1);
  seed.u8(number(SrpAct::kAnyTag)).u32(0x1'0000).u32(0).u8(0x28).u8(0);
  seed.u8(10).u8(12).u8(12).u8(0).u8(0).u8(0);
  seed.u8(number(SrpAct::kBytes)).u8(8).u32(0xC1).u32(7);
  return seed.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : {commands(), management(), requests(), lies()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
