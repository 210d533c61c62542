// Seeds for doorbell_fuzz: arms, polls and posts of programs that come and go,
// and words that fit nobody. Usage: doorbell_seeds DIRECTORY

#include "doorbell_script.h"
#include "guest_seeds.h"

namespace paravane::fake {
namespace {

std::vector<SeedBytes> all() {
  std::vector<SeedBytes> seeds;
  for (std::uint32_t bits = 0; bits < 8; ++bits) {
    SeedBytes seed;
    (seed << DoorbellAct::kOpen);
    (seed << DoorbellAct::kProduce).u8(bits).u8(5);
    (seed << DoorbellAct::kStore).u8(bits).u8(1).u8(1).u8(bits).u8(bits).u8(1).u8(bits << 5);
    (seed << DoorbellAct::kTime).u16(2000);
    (seed << DoorbellAct::kPoll).u8(0).u8(1).u8(bits);
    (seed << DoorbellAct::kProduce).u8(0).u8(19);
    (seed << DoorbellAct::kTime).u16(3000);
    (seed << DoorbellAct::kMessage).u16(4 * bits).u8(1).u8(0).u8(1).u8(bits << 5).u8(3);
    (seed << DoorbellAct::kKill).u8(bits);
    (seed << DoorbellAct::kStore).u8(bits).u8(0).u8(0).u8(0).u8(0).u8(0).u32(0xC0000001);
    (seed << DoorbellAct::kTime).u16(3000);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  return paravane::fake::write_seeds(argc, argv, paravane::fake::all());
}
