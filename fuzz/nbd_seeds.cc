// Seeds for nbd_fuzz: a VM's disk at work; handshakes of each kind; programs that take the device
// from one another; and requests that are wrong.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "nbd_script.h"

namespace {

using paravane::fake::NbdAct;
using paravane::fake::SeedBytes;

using Seed = std::vector<std::uint8_t>;

std::uint32_t number(NbdAct act) {
  return std::to_underlying(act);
}

SeedBytes entered(std::uint32_t disk, std::uint32_t structured) {
  SeedBytes seed;
  seed.u8(disk).u8(number(NbdAct::kEnter)).u8(structured);
  return seed;
}

void request(SeedBytes& seed, std::uint32_t command, std::uint32_t flags, std::uint32_t offset,
             std::uint32_t length) {
  seed.u8(number(NbdAct::kRequest)).u8(command).u8(flags).u8(offset).u8(length).u8(offset);
}

Seed work(std::uint32_t disk, std::uint32_t structured) {
  SeedBytes seed = entered(disk, structured);
  for (std::uint32_t i = 0; i < 12; ++i) {
    request(seed, i % 2, i % 3 == 0 ? 1 : 0, 8 * i, 8 + i);
    seed.u8(number(NbdAct::kRead));
  }
  request(seed, 3, 0, 0, 0);
  request(seed, 4, 0, 8, 16);
  request(seed, 6, 18, 8, 16);
  seed.u8(number(NbdAct::kRead));
  request(seed, 2, 0, 0, 0);
  return seed.bytes();
}

Seed handshakes() {
  SeedBytes seed;
  seed.u8(0).u8(number(NbdAct::kHello)).u8(3);
  for (const std::uint32_t option : {3U, 5U, 8U, 10U, 11U, 12U})
    seed.u8(number(NbdAct::kOption)).u8(option).u8(0);
  for (std::uint32_t i = 0; i < 4; ++i) {
    seed.u8(number(NbdAct::kQuery)).u8(0).u8(i).u8(4);
    for (std::uint32_t kind = 0; kind < 4; ++kind) seed.u8(kind);
  }
  seed.u8(number(NbdAct::kOption)).u8(7).u8(255).u16(5000);
  seed.u8(number(NbdAct::kOption)).u8(1).u8(0);
  request(seed, 0, 0, 0, 8);
  seed.u8(number(NbdAct::kChoose)).u8(1).u8(number(NbdAct::kHello)).u8(1);
  seed.u8(number(NbdAct::kQuery)).u8(1).u8(1).u8(0);
  seed.u8(number(NbdAct::kOption)).u8(2).u8(0);
  seed.u8(number(NbdAct::kChoose)).u8(2).u8(number(NbdAct::kTime)).u16(11'000);
  return seed.bytes();
}

Seed changes() {
  SeedBytes seed = entered(0, 1);
  seed.u8(number(NbdAct::kHold)).u8(1);
  for (std::uint32_t i = 0; i < 6; ++i) request(seed, i % 2, 0, i, 4);
  seed.u8(number(NbdAct::kComplete)).u8(1).u8(number(NbdAct::kFail)).u8(2);
  seed.u8(number(NbdAct::kChoose)).u8(1).u8(number(NbdAct::kEnter)).u8(0);
  seed.u8(number(NbdAct::kChoose)).u8(0).u8(number(NbdAct::kClose));
  seed.u8(number(NbdAct::kChoose)).u8(1).u8(number(NbdAct::kQuery)).u8(1).u8(1).u8(1).u8(3);
  seed.u8(number(NbdAct::kHold)).u8(0).u8(number(NbdAct::kRead)).u8(number(NbdAct::kFail)).u8(0);
  request(seed, 0, 0, 0, 8);
  seed.u8(number(NbdAct::kStopSending)).u8(number(NbdAct::kRead));
  seed.u8(number(NbdAct::kConnect)).u8(0).u8(number(NbdAct::kDelayReady)).u8(1);
  return seed.bytes();
}

Seed wrong_requests() {
  SeedBytes seed = entered(0, 1);
  seed.u8(number(NbdAct::kTurn)).u8(2).u8(3);
  seed.u8(number(NbdAct::kOddRequest)).u8(1).u16(0).u8(0).u8(1).u8(5);
  seed.u8(number(NbdAct::kPayload)).u8(1).u8(number(NbdAct::kRead));
  seed.u8(number(NbdAct::kOddRequest)).u8(9).u16(7).u8(1).u8(1).u8(0);
  request(seed, 1, 0, 250, 39);
  seed.u8(number(NbdAct::kOddRequest)).u8(0).u16(4).u8(0).u8(0).u8(12);
  seed.u8(number(NbdAct::kBytes)).u8(4).u32(0xFFFF'FFFF).u8(number(NbdAct::kTime)).u16(31'000);
  return seed.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed :
       {work(0, 1), work(0, 0), work(31, 1), handshakes(), changes(), wrong_requests()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
