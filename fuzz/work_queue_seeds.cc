// Seeds for work_queue_fuzz: each operation on each end, receives, moves and
// impossible indices. Usage: work_queue_seeds DIRECTORY

#include "guest_seeds.h"
#include "work_queue_script.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kSignaled = 2;

// Length, opcode, flags, target, SGEs, no bent words, ring.
void send(SeedBytes& seed, std::uint32_t end, std::uint32_t opcode, std::uint32_t bytes) {
  (seed << WorkAct::kSend)
      .u8(end)
      .u16(bytes)
      .u8(opcode)
      .u8(kSignaled)
      .u8(end ^ 1)
      .u8(1)
      .u8(0)
      .u8(0);
}
void receive(SeedBytes& seed, std::uint32_t end) {
  (seed << WorkAct::kReceive).u8(end).u16(4000).u8(2).u8(0).u8(0);
}
void pass(SeedBytes& seed) {
  (seed << WorkAct::kTime).u8(0).u16(3000);
}

std::vector<SeedBytes> all() {
  std::vector<SeedBytes> seeds;
  for (std::uint32_t end = 0; end < 8; ++end) {
    for (std::uint32_t opcode = 0; opcode < 7; ++opcode) {
      SeedBytes seed;
      receive(seed, end ^ 1);
      receive(seed, end);
      send(seed, end, opcode, 2000);
      pass(seed);
      send(seed, end, opcode, 8000);
      (seed << WorkAct::kConsume).u8(end).u8(30).u8(1).u8(0);
      pass(seed);
      seeds.push_back(seed);
    }
    for (std::uint32_t state = 0; state < 8; ++state) {
      SeedBytes seed;
      receive(seed, end);
      send(seed, end, 2, 100);
      (seed << WorkAct::kMove).u8(end).u8(state);
      send(seed, end, 2, 100);
      pass(seed);
      seeds.push_back(seed);
    }
    for (std::uint32_t ring = 0; ring < 5; ++ring) {
      SeedBytes seed;
      (seed << WorkAct::kIndex).u8(end).u8(ring).u8(10).u8(ring);
      (seed << WorkAct::kRing).u8(end).u8(0xC0);
      (seed << WorkAct::kScribble).u8(end).u8(ring).u16(ring * 20).u8(3);
      pass(seed);
      seeds.push_back(seed);
    }
  }
  SeedBytes unending;  // the notification ring's head where it never meets the tail
  (unending << WorkAct::kConsume).u8(0).u8(0).u8(1).u8(0);
  (unending << WorkAct::kIndex).u8(0).u8(3).u8(9).u8(0);
  receive(unending, 1);
  send(unending, 0, 2, 100);
  pass(unending);
  seeds.push_back(unending);
  for (std::uint32_t opcode = 0; opcode < 4; ++opcode) {
    SeedBytes seed;  // peers wait, receives come, the limit is passed, one end dies
    for (const std::uint32_t peer : {6u, 7u}) send(seed, peer, opcode, 300);
    pass(seed);
    for (int i = 0; i < 4; ++i) (seed << WorkAct::kShared).u8(0).u16(4000).u8(2).u8(0).u8(0);
    (seed << WorkAct::kLimit).u8(0).u8(4);
    pass(seed);
    send(seed, 7, opcode, 300);
    (seed << WorkAct::kMove).u8(4).u8(6);
    pass(seed);
    if (opcode % 2 != 0) (seed << WorkAct::kSharedIndex).u8(0).u8(5).u8(opcode);
    send(seed, 7, opcode, 300);
    pass(seed);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  return paravane::fake::write_seeds(argc, argv, paravane::fake::all());
}
