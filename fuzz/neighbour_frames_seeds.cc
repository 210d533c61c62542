// Seeds for neighbour_frames_fuzz: a neighbour that is asked for and answers, and one that asks.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib/arp.h"
#include "neighbour/solicitation.h"
#include "neighbour_frames_script.h"

namespace {

using namespace paravane;
using fake::NeighbourAct;
using fake::SeedBytes;
using Bytes = std::vector<std::byte>;

constexpr neighbour::MacBytes kMac{2, 0, 0, 0, 0, 9};
constexpr neighbour::MacBytes kPeer{2, 0, 0, 0, 0, 1};
constexpr neighbour::Address kOwn{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 9};

void add_frame(SeedBytes& seed, const Bytes& frame) {
  seed.u8(static_cast<std::uint32_t>(NeighbourAct::kFrame))
      .u8(static_cast<std::uint32_t>(frame.size()));
  for (const std::byte byte : frame) seed.u8(std::to_integer<std::uint32_t>(byte));
}
void add_question(SeedBytes& seed, std::uint32_t kind, std::uint32_t last) {
  seed.u8(static_cast<std::uint32_t>(NeighbourAct::kAsk)).u8(kind).u16(last);
}

Bytes arp(ipoib::ArpOperation operation) {
  const auto packet = ipoib::ethernet_arp({.operation = operation,
                                           .sender = kPeer,
                                           .sender_ipv4 = {10, 77, 0, 1},
                                           .target = kMac,
                                           .target_ipv4 = {10, 77, 0, 9}});
  Bytes frame;
  ipoib::write_frame({.destination = kMac,
                      .source = kPeer,
                      .type = wire::infiniband::kEtherTypeArp,
                      .payload = packet},
                     frame);
  return frame;
}

std::vector<SeedBytes> seeds() {
  const neighbour::Address peer_address{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const neighbour::Station peer{.mac = kPeer, .link_local = peer_address};
  std::vector<SeedBytes> all(3);
  add_question(all[0], 0, 1);
  add_frame(all[0], arp(ipoib::ArpOperation::kReply));
  add_question(all[0], 0, 1);
  all[0].u8(static_cast<std::uint32_t>(NeighbourAct::kTime)).u16(40'000);
  add_question(all[0], 0, 1);
  add_frame(all[1], arp(ipoib::ArpOperation::kRequest));
  add_frame(all[1], neighbour::solicitation_of(peer, kOwn));
  add_question(all[2], 1, 1);
  add_frame(all[2],
            neighbour::advertisement_of(peer, {.source = kOwn, .target = peer_address}, kMac));
  add_question(all[2], 1, 1);
  all[2].u8(static_cast<std::uint32_t>(NeighbourAct::kWay)).u8(0);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const SeedBytes& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(count++)),
                       std::ios::binary);
    const auto& bytes = seed.bytes();
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
