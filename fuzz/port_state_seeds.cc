// Seeds for port_state_fuzz: each scene as it is, with each life, and with changes of its records
// and descriptors.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "port_state_script.h"
#include "state_changes.h"

namespace {

using paravane::fake::PortScene;
using paravane::fake::SeedBytes;
using paravane::fake::StateAct;
using paravane::fake::StateFd;

constexpr std::uint32_t kRecords = 600;
constexpr std::uint32_t kLives = 32;

std::vector<SeedBytes> seeds_of(PortScene scene) {
  const auto begin = [&](std::uint32_t life) {
    return SeedBytes().u8(std::to_underlying(scene)).u8(life);
  };
  const auto act = [&](StateAct what) {
    return begin(paravane::fake::kLeaves | paravane::fake::kSpeaks).u8(std::to_underlying(what));
  };
  std::vector<SeedBytes> all;
  for (std::uint32_t life = 0; life < kLives; life += 3) all.push_back(begin(life));
  for (std::uint32_t record = 0; record < kRecords; record += 66) {
    all.push_back(act(StateAct::kNumber).u16(record).u8(0).u8(1));
    all.push_back(act(StateAct::kDrop).u16(record + 4));
    all.push_back(act(StateAct::kTwice).u16(record + 8));
    all.push_back(act(StateAct::kLonger).u16(record + 12).u8(1));
    all.push_back(act(StateAct::kSwap).u16(record + 16).u16(record + 17));
    all.push_back(act(StateAct::kInside).u16(record + 20).u16(3).u8(2).u8(0).u8(4));
  }
  if (scene != PortScene::kBusy && scene != PortScene::kKept) return all;
  for (std::uint32_t fd = 0; fd < 8; ++fd) {
    all.push_back(act(StateAct::kNoFd).u8(fd));
    for (std::uint32_t kind = 0; kind < std::to_underlying(StateFd::kCount); ++kind) {
      all.push_back(act(StateAct::kOtherFd).u8(fd).u8(kind).u16(0));
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (std::uint8_t scene = 0; scene < std::to_underlying(PortScene::kCount); ++scene) {
    for (const SeedBytes& seed : seeds_of(PortScene{scene})) {
      std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.bytes().data()),
                 static_cast<std::streamsize>(seed.bytes().size()));
      if (!file) return 1;
    }
  }
  return 0;
}
