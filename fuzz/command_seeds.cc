// Seeds for command_fuzz: every command once, as a driver sends it, and with one
// word bent; the region and the registers. Usage: command_seeds DIRECTORY

#include "command_script.h"
#include "guest_seeds.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kKernel = 0x80;

std::vector<SeedBytes> all() {
  std::vector<SeedBytes> seeds;
  for (const std::uint32_t side : {0u, kKernel}) {
    for (std::uint32_t which = 0; which < 22; ++which) {
      SeedBytes seed;
      (seed << CommandAct::kBent).u8(which | side).u8(0);
      (seed << CommandAct::kBent).u8(which | side).u8(1).u8(which).u8(2).u8(which);
      (seed << CommandAct::kTime).u16(2000);
      seeds.push_back(seed);
    }
  }
  SeedBytes create_and_destroy;
  (create_and_destroy << CommandAct::kBent).u8(3).u8(0);
  (create_and_destroy << CommandAct::kBent).u8(13).u8(0);
  (create_and_destroy << CommandAct::kBent).u8(11).u8(0);
  (create_and_destroy << CommandAct::kBent).u8(12).u8(0);
  seeds.push_back(create_and_destroy);
  SeedBytes shared;  // made, limited, asked for; used by a queue pair; both destroyed
  for (const std::uint32_t which : {15u, 18u, 16u | 3 << 5, 17u, 20u, 19u, 11u, 19u}) {
    (shared << CommandAct::kBent).u8(which).u8(0);
  }
  seeds.push_back(shared);
  for (std::uint32_t at = 0; at < 18; ++at) {
    SeedBytes region;
    (region << CommandAct::kRegion).u8(at).u8(1).u8(1).u8(1);
    (region << CommandAct::kControl).u8(0);
    (region << CommandAct::kBusMaster).u8(at);
    (region << CommandAct::kRegister).u16(at * 4).u32(at).u8(2);
    seeds.push_back(region);
  }
  SeedBytes raw;
  raw << CommandAct::kRaw;
  for (std::uint32_t i = 0; i < 44; ++i) raw.u32(i);
  seeds.push_back(raw);
  return seeds;
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  return paravane::fake::write_seeds(argc, argv, paravane::fake::all());
}
