// Seeds for communication_fuzz: connections that are made and ended by either side; peers that
// reject, wait and repeat; and lies about each message.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "communication_script.h"
#include "fuzz_bytes.h"

namespace {

using paravane::fake::CommunicationAct;
using paravane::fake::CommunicationOrder;
using paravane::fake::SeedBytes;

using Seed = std::vector<std::uint8_t>;

// Which message: its attribute is 0x10 more.
enum Message : std::uint32_t { kReq, kMra, kRej, kRep, kRtu, kDreq, kDrep };

void connect(SeedBytes& seed, std::uint32_t peer) {
  seed.u8(std::to_underlying(CommunicationAct::kConnect)).u8(peer);
}
void order(SeedBytes& seed, CommunicationOrder what, std::uint32_t connection = 0) {
  seed.u8(std::to_underlying(CommunicationAct::kOrder)).u8(std::to_underlying(what)).u8(connection);
}
void hear(SeedBytes& seed, std::uint32_t message, std::uint32_t connection = 0,
          std::uint32_t lies = 0, std::uint32_t number = 0) {
  seed.u8(std::to_underlying(CommunicationAct::kMessage)).u8(message).u8(connection).u8(lies);
  seed.u32(number);
}
void pass(SeedBytes& seed, std::uint32_t milliseconds) {
  seed.u8(std::to_underlying(CommunicationAct::kTime)).u16(milliseconds);
}

Seed lives() {
  SeedBytes seed;
  for (std::uint32_t i = 0; i < 3; ++i) {
    connect(seed, i);
    hear(seed, kRep);
    order(seed, CommunicationOrder::kReadyToUse);
    pass(seed, 100);
    hear(seed, kRep);
  }
  order(seed, CommunicationOrder::kDisconnect, 0);
  hear(seed, kDrep, 0);
  hear(seed, kDreq, 1);
  hear(seed, kDreq, 1);
  order(seed, CommunicationOrder::kForget, 2);
  hear(seed, kRep, 2);
  return seed.bytes();
}

Seed mishaps() {
  SeedBytes seed;
  connect(seed, 1);
  hear(seed, kMra, 0, 0, 20 << 11);
  pass(seed, 9000);
  hear(seed, kRej, 0, 0, 10 << 16);
  connect(seed, 2);
  hear(seed, kRep);
  order(seed, CommunicationOrder::kReject);
  hear(seed, kRep);
  connect(seed, 3);
  pass(seed, 40000);
  hear(seed, kRep);
  connect(seed, 0);
  hear(seed, kRep);
  order(seed, CommunicationOrder::kReadyToUse);
  hear(seed, kRej, 0, 32, 0x80 | (10 << 16));
  seed.u8(std::to_underlying(CommunicationAct::kRoom)).u8(0);
  connect(seed, 1);
  pass(seed, 30500);
  return seed.bytes();
}

Seed lies() {
  SeedBytes seed;
  connect(seed, 1);
  for (std::uint32_t message = 0; message < 7; ++message) {
    for (std::uint32_t lie = 1; lie < 64; lie *= 2) hear(seed, message, 0, lie, 0x40'1234);
  }
  hear(seed, kRep);
  order(seed, CommunicationOrder::kReadyToUse);
  for (std::uint32_t message = 0; message < 7; ++message) {
    for (std::uint32_t lie = 1; lie < 64; lie *= 2) hear(seed, message, 0, lie, 0x40'1234);
  }
  order(seed, CommunicationOrder::kDisconnect);
  for (std::uint32_t lie = 1; lie < 64; lie *= 2) hear(seed, kDrep, 0, lie, 0x40'1234);
  pass(seed, 6000);
  seed.u8(std::to_underlying(CommunicationAct::kBytes)).u8(1).u8(18);
  for (const std::uint32_t byte :
       {1U, 7U, 2U, 3U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U, 0x10U})
    seed.u8(byte);
  return seed.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const Seed& seed : {lives(), mishaps(), lies()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
