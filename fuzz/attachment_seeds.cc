// Seeds for attachment_fuzz: each scene as it is, and with changes of a few of its records; one of
// them with all changes of its descriptors.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "attachment_script.h"
#include "fuzz_bytes.h"
#include "state_changes.h"

namespace {

using paravane::fake::AttachmentScene;
using paravane::fake::SeedBytes;
using paravane::fake::StateAct;
using paravane::fake::StateFd;

constexpr std::uint32_t kRecords = 40;

std::vector<SeedBytes> seeds_of(AttachmentScene scene) {
  const auto begin = [&] { return SeedBytes().u8(std::to_underlying(scene)); };
  const auto act = [&](StateAct what) { return begin().u8(std::to_underlying(what)); };
  std::vector<SeedBytes> all{begin()};
  for (std::uint32_t record = 0; record < kRecords; record += 8) {
    all.push_back(act(StateAct::kNumber).u16(record).u8(0).u8(1));
    all.push_back(act(StateAct::kDrop).u16(record));
    all.push_back(act(StateAct::kTwice).u16(record + 1));
    all.push_back(act(StateAct::kLonger).u16(record + 2).u8(1));
    all.push_back(act(StateAct::kSwap).u16(record).u16(record + 3));
  }
  all.push_back(act(StateAct::kByte).u16(20).u8(7));
  all.push_back(act(StateAct::kCut).u16(100));
  if (scene != AttachmentScene::kMessage) return all;
  for (std::uint32_t fd = 0; fd < 8; ++fd) {
    all.push_back(act(StateAct::kNoFd).u8(fd));
    all.push_back(act(StateAct::kSwapFds).u8(fd).u8(fd + 1));
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
  for (std::uint8_t scene = 0; scene < std::to_underlying(AttachmentScene::kCount); ++scene) {
    for (const SeedBytes& seed : seeds_of(AttachmentScene{scene})) {
      std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.bytes().data()),
                 static_cast<std::streamsize>(seed.bytes().size()));
      if (!file) return 1;
    }
  }
  return 0;
}
