// Seeds for subnet_state_fuzz: each part as it is, and with changes of its records.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "state_changes.h"
#include "subnet_state_script.h"

namespace {

using paravane::fake::SeedBytes;
using paravane::fake::StateAct;
using paravane::fake::SubnetStatePart;

constexpr std::uint32_t kRecords = 400;  // of a switch with 64 ports

std::vector<SeedBytes> seeds_of(SubnetStatePart part) {
  const auto begin = [&] { return SeedBytes().u8(std::to_underlying(part)); };
  const auto act = [&](StateAct what) { return begin().u8(std::to_underlying(what)); };
  std::vector<SeedBytes> all{begin()};
  const std::uint32_t most = part == SubnetStatePart::kSubnet ? kRecords : 40;
  const std::uint32_t step = most / 10;
  for (std::uint32_t record = 0; record < most; record += step) {
    all.push_back(act(StateAct::kNumber).u16(record).u8(0).u8(1));
    all.push_back(act(StateAct::kDrop).u16(record));
    all.push_back(act(StateAct::kTwice).u16(record + 1));
    all.push_back(act(StateAct::kLonger).u16(record + 2).u8(1));
    all.push_back(act(StateAct::kSwap).u16(record).u16(record + 3));
    for (std::uint32_t place = 0; place < 64; place += 7)
      all.push_back(act(StateAct::kInside).u16(record).u16(place).u8(1));
  }
  all.push_back(act(StateAct::kByte).u16(20).u8(7));
  all.push_back(act(StateAct::kCut).u16(100));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (std::uint8_t part = 0; part < std::to_underlying(SubnetStatePart::kCount); ++part) {
    for (const SeedBytes& seed : seeds_of(SubnetStatePart{part})) {
      std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.bytes().data()),
                 static_cast<std::streamsize>(seed.bytes().size()));
      if (!file) return 1;
    }
  }
  return 0;
}
