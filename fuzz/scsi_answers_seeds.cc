// Seeds for scsi_answers_fuzz: a right answer for each parser, as the fake logical unit gives it.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scsi/request.h"
#include "srp/login.h"
#include "testing/fake_scsi_disk.h"
#include "testing/fake_srp_target.h"
#include "testing/remote_memory.h"

namespace {

using paravane::fake::FakeScsiDisk;
namespace scsi = paravane::scsi;

using Bytes = std::vector<std::byte>;
struct Seed {
  std::uint8_t parser;
  Bytes bytes;
};

// The place of each parser in scsi_answers_fuzz.cc.
std::vector<Seed> seeds() {
  FakeScsiDisk disk;
  const auto data = [&](const scsi::Request& request) {
    return disk.execute(request.cdb, {}).data;
  };
  paravane::fake::FakeRemoteMemory memory;
  paravane::fake::FakeSrpTarget target(memory, [](auto) {});
  const auto login = paravane::srp::login_request({});
  const Bytes luns{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{24}, std::byte{0},
                   std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},  std::byte{1},
                   std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},  std::byte{0},
                   std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},  std::byte{0},
                   std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},  std::byte{65},
                   std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0},  std::byte{0},
                   std::byte{0}, std::byte{0}};
  using paravane::wire::scsi::SenseKey;
  return {{0, data(scsi::inquiry())},
          {1, data(scsi::inquiry_page(0x00))},
          {2, data(scsi::inquiry_page(0x83))},
          {3, data(scsi::inquiry_page(0x80))},
          {4, data(scsi::inquiry_page(0xB0))},
          {4, data(scsi::inquiry_page(0xB2))},
          {5, data(scsi::read_capacity10())},
          {5, data(scsi::read_capacity16())},
          {6, luns},
          {7, data(scsi::mode_sense6(0x08))},
          {7, data(scsi::mode_sense10(0x08))},
          {8, paravane::fake::fixed_sense({.key = SenseKey::kUnitAttention, .asc = 0x29})},
          {8, paravane::fake::descriptor_sense({.key = SenseKey::kMedium, .asc = 0x11}, true)},
          {9, target.log_in(login)},
          {9, target.reject(login, 0x0001'0006)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.put(static_cast<char>(seed.parser));
    file.write(reinterpret_cast<const char*>(seed.bytes.data()),
               static_cast<std::streamsize>(seed.bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
