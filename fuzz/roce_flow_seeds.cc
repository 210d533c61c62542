// Seeds for roce_flow_fuzz: talk in good and bad weather, and a peer that keeps the rules.

#include <filesystem>
#include <fstream>
#include <vector>

#include "fuzz_bytes.h"
#include "roce_flow_script.h"

namespace {

using paravane::fake::RoceFlowAct;
using paravane::fake::SeedBytes;

class Script {
 public:
  explicit Script(bool many) { seed_.u8(many ? 1 : 0); }
  Script& act(RoceFlowAct what, std::initializer_list<std::uint32_t> numbers = {}) {
    seed_.u8(static_cast<std::uint32_t>(what));
    for (const std::uint32_t number : numbers) seed_.u8(number);
    return *this;
  }
  const std::vector<std::uint8_t>& bytes() const { return seed_.bytes(); }

 private:
  SeedBytes seed_;
};

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const bool many : {true, false}) {
    // The honest ones, in each weather, over each path.
    for (const std::uint32_t path : {3U, 0U, 1U, 2U}) {
      Script talk(many);
      talk.act(RoceFlowAct::kWeather, {path * 3, path * 2, path * 4, path, 7});
      for (std::uint32_t i = 0; i < 16; ++i) {
        talk.act(RoceFlowAct::kTalk, {i % 4, i / 2 % 4, i * 15});
        if (i == 6) talk.act(RoceFlowAct::kPath, {path});
        if (i == 10) talk.act(RoceFlowAct::kPath, {3});
        if (i % 5 == 4) talk.act(RoceFlowAct::kHandOver, {i % 4});
        if (i % 3 == 0) talk.act(RoceFlowAct::kTurns, {2, 40}).act(RoceFlowAct::kTime, {20});
      }
      all.push_back(talk);
    }
    // The peer's requests, each alone: opcode, place, flags, distance, bytes, region.
    Script requests(many);
    for (std::uint32_t opcode = 0; opcode < 18; ++opcode) {
      requests.act(RoceFlowAct::kReceive, {0, 200})
          .act(RoceFlowAct::kRequest, {opcode, 0, 4, 0, opcode == 14 ? 0x80U : 0U, 1})
          .act(RoceFlowAct::kTurns, {2, 40});
    }
    all.push_back(requests);
    // Sends and writes of three packets, and atomics and reads that come again.
    Script longer(many);
    longer.act(RoceFlowAct::kReceive, {0, 200});
    for (const std::uint32_t opcode : {0U, 1U, 2U, 6U, 7U, 8U, 12U, 14U}) {
      longer.act(RoceFlowAct::kRequest, {opcode, 0, 4, 0, 0, 3}).act(RoceFlowAct::kTurns, {1, 40});
      longer.act(RoceFlowAct::kRequest, {opcode, 0, 4, 0x65, 0, 3})
          .act(RoceFlowAct::kTurns, {1, 40});
      longer.act(RoceFlowAct::kHandOver, {opcode % 4});
    }
    all.push_back(longer);
    // Our requests, answered by each kind of answer: opcode, place, flags, distance, syndrome,
    // bytes.
    for (std::uint32_t operation = 0; operation < 5; ++operation) {
      Script ours(many);
      for (const std::uint32_t syndrome : {0U, 0x1FU, 0x60U, 0x21U, 0x61U, 0x62U, 0x63U, 0x7FU}) {
        ours.act(RoceFlowAct::kPost, {0, operation, 8}).act(RoceFlowAct::kTurns, {2, 40});
        const std::uint32_t opcode = operation == 2 ? 2U : operation == 3 ? 6U : 0U;
        ours.act(RoceFlowAct::kAnswer, {opcode, 0, 4, 0x67, syndrome, 0})
            .act(RoceFlowAct::kTurns, {2, 40})
            .act(RoceFlowAct::kTime, {5});
        if (syndrome > 0x60) ours.act(RoceFlowAct::kQueuePair, {0, 1});
      }
      all.push_back(ours);
    }
    // A way through a router: probed, answered, not answered, forged, replayed, not allowed.
    Script probes(many);
    probes.act(RoceFlowAct::kProbe, {0, 0}).act(RoceFlowAct::kTurns, {2, 40});
    for (const std::uint32_t what : {2U, 3U, 4U, 1U, 1U, 4U, 0U, 5U, 1U, 0U}) {
      if (what == 0 || what == 5) {
        probes.act(RoceFlowAct::kProbe, {what, what});
      } else {
        probes.act(RoceFlowAct::kProbe, {what, 1, 0, 4});
      }
      for (int i = 0; i < 20; ++i) probes.act(RoceFlowAct::kTime, {63});
    }
    all.push_back(probes);
    all.push_back(Script(many)
                      .act(RoceFlowAct::kReceive, {2, 100})
                      .act(RoceFlowAct::kDatagram, {4, 0, 0})
                      .act(RoceFlowAct::kDatagram, {4, 1, 0})
                      .act(RoceFlowAct::kTurns, {2, 40})
                      .act(RoceFlowAct::kQueuePair, {1, 2})
                      .act(RoceFlowAct::kRegion)
                      .act(RoceFlowAct::kRoom, {3})
                      .act(RoceFlowAct::kPost, {1, 1, 200})
                      .act(RoceFlowAct::kTime, {30}));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const Script& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    const std::vector<std::uint8_t>& bytes = seed.bytes();
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
