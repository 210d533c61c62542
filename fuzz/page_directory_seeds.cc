// Seeds for page_directory_fuzz: objects of one and of several tables, good and
// with one entry spoilt, and memory that goes away. Usage: page_directory_seeds
// DIRECTORY

#include "guest_seeds.h"
#include "page_directory_script.h"

namespace paravane::fake {
namespace {

std::vector<SeedBytes> all() {
  std::vector<SeedBytes> seeds;
  for (const std::uint32_t pages : {0u, 3u, 511u, 512u, 1040u}) {
    for (std::uint32_t bends = 0; bends < 2; ++bends) {
      const auto directory = [&](SeedBytes& seed) {
        seed.u16(pages).u8(bends);
        for (std::uint32_t i = 0; i < bends; ++i) seed.u16(pages / 2).u8(pages).u8(0).u8(pages % 8);
      };
      SeedBytes region;
      region << DirectoryAct::kRegion;
      directory(region);
      region.u16(100).u16(0).u8(1).u32(50).u16(300).u8(0).u8(1);
      seeds.push_back(region);
      SeedBytes queue;
      queue << DirectoryAct::kCompletionQueue;
      directory(queue);
      queue.u8(6).u8(1);
      seeds.push_back(queue);
      SeedBytes pair;
      pair << DirectoryAct::kQueuePair;
      directory(pair);
      pair.u8(4).u8(4).u8(0);
      seeds.push_back(pair);
    }
  }
  for (std::uint32_t first = 0; first < 2048; first += 400) {
    SeedBytes seed;
    (seed << DirectoryAct::kUse).u16(5000).u16(9000);
    (seed << DirectoryAct::kUnmap).u16(first).u16(100);
    (seed << DirectoryAct::kUse).u16(5000).u16(9000);
    (seed << DirectoryAct::kTime).u16(2000);
    (seed << DirectoryAct::kMap).u16(first).u16(100);
    (seed << DirectoryAct::kUse).u16(5000).u16(9000);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  return paravane::fake::write_seeds(argc, argv, paravane::fake::all());
}
