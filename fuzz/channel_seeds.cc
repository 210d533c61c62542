// Seeds for channel_fuzz: a host that keeps the rules, for a while.

#include <filesystem>
#include <fstream>
#include <vector>

#include "channel_script.h"
#include "fuzz_bytes.h"

namespace {

using paravane::fake::ChannelAct;
using paravane::fake::SeedBytes;

class Script {
 public:
  explicit Script(bool sealed, bool has_lanes = false) {
    seed_.u8((sealed ? 1 : 0) | (has_lanes ? 2 : 0));
  }

  Script& act(ChannelAct what, std::initializer_list<std::uint32_t> numbers = {}) {
    seed_.u8(static_cast<std::uint32_t>(what));
    for (const std::uint32_t number : numbers) seed_.u8(number);
    return *this;
  }
  Script& end(std::uint32_t direct = 0) { return act(ChannelAct::kEnd, {direct, 0}); }
  Script& greet() { return act(ChannelAct::kHello, {0}).end(); }
  const std::vector<std::uint8_t>& bytes() const { return seed_.bytes(); }

 private:
  SeedBytes seed_;
};

// Lane 2 is that of the first adapter; its memory is registered by the first message.
Script with_lanes(bool sealed) {
  Script script(sealed, true);
  script.greet()
      .act(ChannelAct::kLane, {0, 2, 1, 0})
      .end()
      .act(ChannelAct::kTurns, {3})
      .act(ChannelAct::kLane, {1, 2})
      .act(ChannelAct::kOpen, {1, 0, 0})
      .end();
  for (std::uint32_t serial = 1; serial < 4; ++serial) {
    script.act(ChannelAct::kRequest, {1, 0, serial, 0x8F, 1, 0, 0})
        .end()
        .act(ChannelAct::kTurns, {3});
  }
  script.act(ChannelAct::kPiece, {0x8F, 0, 0}).act(ChannelAct::kTurns, {3});
  // A READ, and requests of our own.
  script.act(ChannelAct::kRequest, {1, 4, 5, 0x8F, 1, 0, 0})
      .end()
      .act(ChannelAct::kClear, {1, 1, 5, 0, 0x8F, 2, 0})
      .act(ChannelAct::kPost, {0, 1, 0x8F})
      .act(ChannelAct::kPost, {0, 2, 0x8F})
      .act(ChannelAct::kTurns, {4})
      .act(ChannelAct::kClear, {0, 1, 1, 0, 0x8F, 2, 1})
      .act(ChannelAct::kClear, {2, 1, 2})
      .end()
      .act(ChannelAct::kTurns, {3})
      .act(ChannelAct::kLane, {2, 2})
      .end()
      .act(ChannelAct::kRegion, {0});
  return script;
}

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const bool sealed : {true, false}) {
    // Each operation, short.
    Script shorts(sealed);
    shorts.greet().act(ChannelAct::kOpen, {1, 0, 0}).end();
    for (std::uint32_t opcode = 0; opcode < 8; ++opcode) {
      shorts.act(ChannelAct::kReceive, {0, 100});
      if (opcode == 5 || opcode == 6) {
        shorts.act(ChannelAct::kRequest, {1, opcode, opcode + 1, 0, 0, 0});
      } else {
        shorts.act(ChannelAct::kRequest, {1, opcode, opcode + 1, 64, 0, 0, opcode == 4 ? 0u : 64u});
      }
      shorts.act(ChannelAct::kEnd, {0, 0}).act(ChannelAct::kTurns, {3}).act(ChannelAct::kFetch);
    }
    all.push_back(shorts);
    // A write of several pieces, and a long read.
    all.push_back(Script(sealed)
                      .greet()
                      .act(ChannelAct::kOpen, {1, 0, 0})
                      .act(ChannelAct::kRequest, {1, 0, 1, 0x82, 0, 0, 0})
                      .end(0x82)
                      .act(ChannelAct::kRequest, {1, 4, 2, 0x8F, 0, 0, 0})
                      .end()
                      .act(ChannelAct::kFetch)
                      .act(ChannelAct::kPlain, {4, 1})
                      .end());
    // Our own requests, answered.
    all.push_back(Script(sealed)
                      .greet()
                      .act(ChannelAct::kPost, {0, 0, 64})
                      .act(ChannelAct::kPost, {0, 2, 100})
                      .act(ChannelAct::kPost, {0, 3, 8})
                      .act(ChannelAct::kPost, {1, 1, 0x8F})
                      .act(ChannelAct::kTurns, {4})
                      .act(ChannelAct::kPlain, {5, 1, 1})
                      .act(ChannelAct::kAck, {1, 1})
                      .act(ChannelAct::kData, {1, 2, 0, 100})
                      .act(ChannelAct::kWord, {1, 3})
                      .act(ChannelAct::kNak, {2, 4, 3, 10, 0})
                      .end()
                      .act(ChannelAct::kTime, {20}));
    // Datagrams, and the end of queue pairs.
    all.push_back(Script(sealed)
                      .greet()
                      .act(ChannelAct::kReceive, {3, 200})
                      .act(ChannelAct::kDatagram, {3, 0, 100})
                      .end()
                      .act(ChannelAct::kReceive, {3, 200})
                      .act(ChannelAct::kDatagram, {3, 0xC0})
                      .act(ChannelAct::kEnd, {0x6F, 0})
                      .act(ChannelAct::kReceive, {3, 200})
                      .act(ChannelAct::kReceive, {3, 200})
                      .act(ChannelAct::kDatagram, {3, 0xC0})
                      .act(ChannelAct::kHoldBack, {100})
                      .act(ChannelAct::kEnd, {0x6F, 0})
                      .act(ChannelAct::kQueuePair, {3, 0})
                      .act(ChannelAct::kDatagram, {3, 0, 100})
                      .end()
                      .act(ChannelAct::kOpen, {2, 4, 0})
                      .end()
                      .act(ChannelAct::kQueuePair, {4, 1})
                      .act(ChannelAct::kRegion, {0})
                      .act(ChannelAct::kForget, {0})
                      .act(ChannelAct::kForget, {1})
                      .act(ChannelAct::kMeet)
                      .greet());
    // It asks us to wait, goes, and comes again; and we ask it.
    all.push_back(Script(sealed)
                      .greet()
                      .act(ChannelAct::kPost, {0, 0, 64})
                      .act(ChannelAct::kTurns, {3})
                      .act(ChannelAct::kPlain, {9, 1, 100, 1})
                      .end()
                      .act(ChannelAct::kMeet)
                      .act(ChannelAct::kPost, {0, 2, 100})
                      .act(ChannelAct::kTime, {200})
                      .act(ChannelAct::kTurns, {3})
                      .greet()
                      .act(ChannelAct::kHoldPeers, {10})
                      .act(ChannelAct::kPlain, {10, 1, 0, 1})
                      .end()
                      .act(ChannelAct::kPlain, {9, 1, 0, 2})
                      .end());
    all.push_back(with_lanes(sealed));
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
