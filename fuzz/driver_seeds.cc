// Seeds for driver_fuzz: each operation on each pair of queue pairs, threads, resets
// and unmapping in the middle of it. Usage: driver_seeds DIRECTORY

#include "driver_script.h"
#include "guest_seeds.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kCompareAndSwap = 5;
constexpr std::uint32_t kFetchAndAdd = 6;

SeedBytes start(std::uint32_t configuration) {
  SeedBytes seed;
  return seed.u8(configuration);
}
SeedBytes& act(SeedBytes& seed, DriverAct what, std::uint32_t vm) {
  return (seed << what).u8(vm);
}
void connect(SeedBytes& seed, std::uint32_t vm, std::uint32_t place, std::uint32_t peer_vm,
             std::uint32_t peer) {
  act(seed, DriverAct::kConnect, vm).u8(place).u8(peer_vm).u8(peer).u8(0);
}
constexpr std::uint32_t kCrooked = 102;    // to an address that is no multiple of eight
constexpr std::uint32_t kConnected = 0;    // who a send is for
constexpr std::uint32_t kWellBehaved = 5;  // what it has not offered

void send(SeedBytes& seed, std::uint32_t vm, std::uint32_t place, std::uint32_t opcode,
          std::uint32_t bytes = 2000, std::uint32_t who = kConnected) {
  act(seed, DriverAct::kSend, vm).u8(place).u8(who);
  if (who == kWellBehaved) seed.u8(6 + bytes % 2);
  seed.u8(bytes == kCrooked ? 0xE3 : 1).u8(opcode).u8(0).u8(0).u8(1);
  if (opcode != kCompareAndSwap && opcode != kFetchAndAdd) seed.u16(bytes);
  seed.u8(0).u8(0).u8(0);
}
void receive(SeedBytes& seed, std::uint32_t vm, std::uint32_t place, std::uint32_t many = 0) {
  act(seed, DriverAct::kReceive, vm).u8(place).u8(0).u16(0).u8(many).u8(0).u8(0);
}
// `foreign`: from 0xC0 on, one of the objects that it names is another context's.
void create(SeedBytes& seed, std::uint32_t vm, std::uint32_t kind, std::uint32_t place,
            std::uint32_t foreign = 0, std::uint32_t other = 0) {
  act(seed, DriverAct::kCreate, vm).u8(kind).u8(place).u8(foreign);
  if (foreign >= 0xC0) seed.u8(other);
  seed.u8(0);
}
void pass(SeedBytes& seed, std::uint32_t microseconds = 500) {
  act(seed, DriverAct::kTime, 0).u16(microseconds);
}
void consume(SeedBytes& seed, std::uint32_t vm, std::uint32_t place) {
  act(seed, DriverAct::kConsume, vm).u8(place).u8(69).u8(0);
}
void threads(SeedBytes& seed, std::uint32_t count, std::uint32_t acts, std::uint32_t dice) {
  act(seed, DriverAct::kThreads, 0).u8(count - 1).u8(acts - 1).u16(dice);
}

// Traffic of every kind between two queue pairs.
SeedBytes traffic(std::uint32_t configuration, std::uint32_t place, std::uint32_t peer) {
  SeedBytes seed = start(configuration);
  for (std::uint32_t opcode = 0; opcode < 12; ++opcode) {
    connect(seed, 0, place, 1, peer);
    receive(seed, 1, peer);
    receive(seed, 0, place);
    send(seed, 0, place, opcode);
    pass(seed);
    send(seed, 1, peer, opcode, 100);
    pass(seed);
    consume(seed, 0, place);
    consume(seed, 1, peer);
  }
  act(seed, DriverAct::kBystander, 0);
  return seed;
}

// The same two while something happens to one of them.
template <typename Happening>
SeedBytes trouble(std::uint32_t place, Happening happening) {
  SeedBytes seed = start(0);
  connect(seed, 0, place, 1, place);
  send(seed, 0, place, 2);  // nobody has posted a receive
  send(seed, 0, place, 0, 9000);
  pass(seed, 100);
  happening(seed);
  receive(seed, 1, place);
  send(seed, 0, place, 4);
  pass(seed, 4000);
  act(seed, DriverAct::kBystander, 0);
  connect(seed, 0, place, 1, place);
  send(seed, 0, place, 2);
  pass(seed, 4000);
  return seed;
}

void add_troubles(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t place = 1; place < 8; place += 2) {
    for (std::uint32_t vm = 0; vm < 2; ++vm) {
      for (std::uint32_t kind = 0; kind < 6; ++kind) {
        seeds.push_back(trouble(place, [&](SeedBytes& seed) {
          act(seed, DriverAct::kDestroy, vm).u8(kind).u8(place).u8(0);
        }));
      }
      for (std::uint32_t how = 0; how < 5; ++how) {
        seeds.push_back(trouble(
            place, [&](SeedBytes& seed) { act(seed, DriverAct::kReset, vm).u8(how).u8(how); }));
      }
      for (std::uint32_t what = 0; what < 3; ++what) {
        seeds.push_back(trouble(place, [&](SeedBytes& seed) {
          act(seed, DriverAct::kHost, vm).u8(2 - what);
          pass(seed, 3000);
          act(seed, DriverAct::kHost, vm).u8(what);
        }));
      }
      for (std::uint32_t state = 0; state < 7; ++state) {
        seeds.push_back(trouble(
            place, [&](SeedBytes& seed) { act(seed, DriverAct::kMove, vm).u8(place).u8(state); }));
      }
      for (std::uint32_t what = 0; what < 5; ++what) {
        seeds.push_back(trouble(place, [&](SeedBytes& seed) {
          act(seed, DriverAct::kMemory, vm).u8(what).u8(5).u8(place).u8(1).u8(3).u8(what);
          pass(seed, 3000);
          act(seed, DriverAct::kMemory, vm).u8(5);
        }));
      }
    }
  }
}

// Long messages, and what may happen in the middle of one.
void add_long(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t what = 0; what < 12; ++what) {
    for (const std::uint32_t place : {3u, 7u}) {
      SeedBytes seed = start(0);
      connect(seed, 0, place, 1, place);
      receive(seed, 1, place);
      send(seed, 0, place, what % 2 == 0 ? 0 : 4, 9000);
      send(seed, 1, place, what % 3 == 0 ? 2 : 0, 9000);
      pass(seed, 1);
      const std::uint32_t vm = what / 2 % 2;
      switch (what % 6) {
        case 0: act(seed, DriverAct::kDestroy, vm).u8(5).u8(place).u8(0); break;
        case 1: act(seed, DriverAct::kDestroy, vm).u8(4).u8(place).u8(0); break;
        case 2: act(seed, DriverAct::kReset, vm).u8(0).u8(0); break;
        case 3: act(seed, DriverAct::kMove, vm).u8(place).u8(6); break;
        case 4: act(seed, DriverAct::kMemory, vm).u8(0).u8(4).u16(0).u8(0); break;
        default: act(seed, DriverAct::kDestroy, vm).u8(0).u8(place).u8(0);
      }
      act(seed, DriverAct::kBystander, 0);
      pass(seed, 3000);
      seeds.push_back(seed);
    }
  }
}

// A buffer or a queue lies in memory that fails.
void add_failing(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t set = 0; set < 26; ++set) {
    for (std::uint32_t vm = 0; vm < 2; ++vm) {
      SeedBytes seed = start(0);
      // Its first page; the object is made after that.
      act(seed, DriverAct::kAlias, vm).u8(0).u8(set).u8(0xE0).u8(set % 2);
      for (std::uint32_t place = 1; place < 8; ++place) connect(seed, 0, place, 1, place);
      for (std::uint32_t place = 1; place < 8; ++place) receive(seed, 1, place);
      act(seed, DriverAct::kHost, vm).u8(3);
      for (std::uint32_t place = 1; place < 8; ++place) send(seed, 0, place, place % 7);
      pass(seed, 3000);
      act(seed, DriverAct::kBystander, 0);
      for (std::uint32_t place = 1; place < 8; ++place) send(seed, 1, place, place % 7);
      pass(seed, 3000);
      seeds.push_back(seed);
    }
  }
}

// Objects of two contexts that meet; then one of the contexts goes.
void add_foreign(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t kind = 2; kind < 6; ++kind) {
    for (std::uint32_t field = 0; field < 4; ++field) {
      SeedBytes seed = start(0);
      for (std::uint32_t place = 1; place < 8; ++place) connect(seed, 0, place, 1, place);
      act(seed, DriverAct::kDestroy, 0).u8(kind).u8(1).u8(0);
      create(seed, 0, kind, 1, 0xC0 + field, 2);
      receive(seed, 0, 1);
      connect(seed, 0, 1, 1, 1);
      receive(seed, 0, 1);
      act(seed, DriverAct::kDestroy, 0).u8(0).u8(2).u8(0);
      act(seed, DriverAct::kMove, 0).u8(1).u8(6);
      send(seed, 1, 1, 2);
      pass(seed);
      seeds.push_back(seed);
    }
  }
}

// All memory mapped anew, with rights that do not suffice.
void add_rights(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t rights = 0; rights < 4; ++rights) {
    for (std::uint32_t place = 1; place < 8; place += 2) {
      SeedBytes seed = start(0);
      connect(seed, 0, place, 1, place);
      receive(seed, 0, place);
      act(seed, DriverAct::kMemory, 0).u8(2).u8(4).u16(0).u8(255).u8(rights);
      send(seed, 0, place, 2);
      send(seed, 1, place, 2);
      act(seed, DriverAct::kConsume, 0).u8(place).u8(0).u8(0);
      pass(seed, 3000);
      for (std::uint32_t kind = 0; kind < 6; ++kind) {
        create(seed, 0, kind, place + 1);
      }
      // Only the response slot cannot be written to.
      act(seed, DriverAct::kMemory, 0).u8(5).u8(0).u8(0);
      act(seed, DriverAct::kMemory, 0).u8(3).u8(5).u8(0).u8(0xF0).u8(0);
      for (std::uint32_t kind = 0; kind < 6; ++kind) {
        create(seed, 0, kind, place + 1);
      }
      seeds.push_back(seed);
    }
  }
}

void add_threads(std::vector<SeedBytes>& seeds) {
  for (std::uint32_t dice = 0; dice < 8; ++dice) {
    SeedBytes seed = start(dice);
    for (std::uint32_t place = 1; place < 8; ++place) connect(seed, 0, place, 1, place);
    threads(seed, 1 + dice % 4, 20, dice);
    for (std::uint32_t place = 1; place < 8; ++place) {
      receive(seed, 1, place);
      send(seed, 0, place, place % 7, 900);
      pass(seed, 300);
    }
    act(seed, DriverAct::kBystander, 0);
    act(seed, DriverAct::kReset, dice % 2).u8(dice).u8(0);
    connect(seed, 0, 1, 1, 1);
    pass(seed, 1000);
    seeds.push_back(seed);
  }
}

std::vector<SeedBytes> all() {
  std::vector<SeedBytes> seeds;
  for (std::uint32_t place = 0; place < 8; ++place) {
    seeds.push_back(traffic(place, place, place));
    seeds.push_back(traffic(0, place, 7 - place));
    SeedBytes seed = start(0);  // with the one that behaves
    connect(seed, 0, place, 2, 0);
    for (std::uint32_t opcode = 0; opcode < 7; ++opcode) {
      send(seed, 0, place, opcode);
      pass(seed);
      if (opcode % 2 != 0) connect(seed, 0, place, 2, 0);
    }
    for (const std::uint32_t opcode : {0u, 4u, kFetchAndAdd}) {
      connect(seed, 0, place, 2, 0);
      send(seed, 0, place, opcode, 100, kWellBehaved);
      pass(seed);
      connect(seed, 0, place, 2, 0);
      send(seed, 0, place, opcode, 101, kWellBehaved);
      pass(seed);
      connect(seed, 0, place, 2, 0);
      send(seed, 0, place, opcode, kCrooked);
      pass(seed);
    }
    seeds.push_back(seed);
  }
  for (std::uint32_t region = 1; region < 8; ++region) {
    SeedBytes seed = start(0);  // fast registration
    connect(seed, 0, 4, 1, 4);
    for (std::uint32_t i = 0; i < 3; ++i) {
      receive(seed, 1, 4, 0xC0);
      act(seed, DriverAct::kRegister, 0).u8(region).u8(i).u16(1000 * i).u8(i == 2 ? 200 : 0).u8(i);
      pass(seed);
      connect(seed, 0, 4, 1, 4);
    }
    seeds.push_back(seed);
  }
  add_troubles(seeds);
  add_long(seeds);
  add_rights(seeds);
  add_foreign(seeds);
  add_failing(seeds);
  add_threads(seeds);
  for (std::uint32_t i = 0; i < 20; ++i) {
    SeedBytes seed = start(i);  // everything that touches memory, once
    connect(seed, 0, i, 1, i);
    act(seed, DriverAct::kScribble, 0).u8(i).u8(i * 13).u8(i).u8(9).u16(i * 8).u8(0);
    act(seed, DriverAct::kAlias, 0).u8(i).u8(i + 5).u8(0).u8(0);
    act(seed, DriverAct::kIndex, 0).u8(i).u8(i).u8(i).u8(i);
    act(seed, DriverAct::kRing, 0).u8(i).u8(i).u8(i).u8(0x40);
    act(seed, DriverAct::kAsk, 0).u8(i).u8(i).u8(0);
    act(seed, DriverAct::kModify, 0).u8(i).u8(i).u8(i).u16(1).u8(0).u8(0);
    act(seed, DriverAct::kGid, 1).u8(i).u8(i).u8(i).u8(1).u8(0);
    act(seed, DriverAct::kRegisters, 0).u8(0).u8(i).u8(2).u8(i).u8(1);
    for (std::uint32_t kind = 0; kind < 6; ++kind) {
      act(seed, DriverAct::kCreate, 0).u8(kind).u8(i).u8(0).u8(i % 8).u8(i).u8(0).u8(i).u8(1).u8(1);
    }
    pass(seed, 3000);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  return paravane::fake::write_seeds(argc, argv, paravane::fake::all());
}
