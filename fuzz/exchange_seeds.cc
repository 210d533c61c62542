// Seeds for exchange_fuzz: each scene as it is, with each step that a file can say, and with other
// numbers.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "exchange_script.h"
#include "fuzz_bytes.h"

namespace {

using paravane::fake::ExchangeAct;
using paravane::fake::ExchangeScene;
using paravane::fake::SeedBytes;

constexpr std::uint32_t kSteps = 6;  // and one that is none
constexpr std::uint32_t kWords = 12;

std::vector<SeedBytes> seeds_of(ExchangeScene scene) {
  const auto act = [](SeedBytes seed, ExchangeAct what) {
    return seed.u8(std::to_underlying(what));
  };
  const SeedBytes begin = SeedBytes().u8(std::to_underlying(scene));
  std::vector<SeedBytes> all{begin};
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const SeedBytes stepped = act(begin, ExchangeAct::kByte).u16(0).u8(step);
    all.push_back(stepped);
    for (std::uint32_t less = 0; less < 3; ++less) {
      all.push_back(act(stepped, ExchangeAct::kSerial).u8(less));
    }
    for (std::uint32_t word = 1; word < kWords; ++word) {
      all.push_back(act(stepped, ExchangeAct::kWord).u8(word).u8(0).u8(12));
      all.push_back(act(stepped, ExchangeAct::kWord).u8(word).u8(1).u8(3));
    }
    all.push_back(act(stepped, ExchangeAct::kPlace).u8(0).u8(9));
    all.push_back(act(stepped, ExchangeAct::kAnswer).u16(0).u8(16).u8(1));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (std::uint8_t scene = 0; scene < std::to_underlying(ExchangeScene::kCount); ++scene) {
    for (const SeedBytes& seed : seeds_of(ExchangeScene{scene})) {
      std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.bytes().data()),
                 static_cast<std::streamsize>(seed.bytes().size()));
      if (!file) return 1;
    }
  }
  return 0;
}
