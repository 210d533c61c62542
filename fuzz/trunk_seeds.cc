// Seeds for trunk_fuzz: trunks that are arranged by either host, lost and arranged anew, and
// streams that carry something each way.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "trunk_script.h"

namespace {

using paravane::fake::ArrangeAct;
using paravane::fake::SeedBytes;
using paravane::fake::StreamAct;
using paravane::fake::TrunkPart;

using Seed = std::vector<std::uint8_t>;

template <typename Act>
std::uint32_t number(Act act) {
  return std::to_underlying(act);
}

Seed arranged(TrunkPart part, std::uint32_t refused) {
  SeedBytes seed;
  seed.u8(number(part)).u8(number(ArrangeAct::kRefuse)).u8(refused);
  seed.u8(number(ArrangeAct::kDevice)).u8(1);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    seed.u8(number(ArrangeAct::kGood));
    if (part == TrunkPart::kFollows) seed.u8(i).u8(number(ArrangeAct::kReady)).u8(i);
    seed.u8(number(ArrangeAct::kTime)).u16(700);
    seed.u8(number(ArrangeAct::kLost)).u8(i).u8(number(ArrangeAct::kTime)).u16(5'100);
  }
  seed.u8(number(ArrangeAct::kOffer)).u8(4).u8(0).u8(0).u16(1024).u8(1).u8(1);
  seed.u8(number(ArrangeAct::kOffer)).u8(8).u8(0).u8(1).u16(4096).u8(1).u8(1);
  seed.u8(number(ArrangeAct::kDevice)).u8(0);
  return seed.bytes();
}

Seed carried(std::uint32_t bytes) {
  SeedBytes seed;
  seed.u8(number(TrunkPart::kStream));
  for (std::uint32_t i = 0; i < 40; ++i) {
    seed.u8(number(StreamAct::kSendOn)).u16(bytes).u8(number(StreamAct::kRead)).u16(bytes * 2);
    seed.u8(number(StreamAct::kWrite)).u16(bytes + i).u8(number(StreamAct::kPost));
    if (i % 8 == 7) seed.u8(number(StreamAct::kSendOn)).u16(0);
  }
  seed.u8(number(StreamAct::kSend)).u16(3).u8(1);
  seed.u8(number(StreamAct::kRead)).u16(9).u8(number(StreamAct::kFail)).u8(0);
  seed.u8(number(StreamAct::kRead)).u16(9);
  return seed.bytes();
}

std::vector<Seed> seeds() {
  std::vector<Seed> seeds;
  for (const TrunkPart part : {TrunkPart::kLeads, TrunkPart::kFollows}) {
    for (const std::uint32_t refused : {0U, 1U, 2U}) seeds.push_back(arranged(part, refused));
  }
  for (const std::uint32_t bytes : {1U, 100U, 4096U, 65'535U}) seeds.push_back(carried(bytes));
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
