// Seeds for umad_door_fuzz: programs that ask everything, send and read MADs, and go in the middle.

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "umad/door_protocol.h"
#include "umad_door_script.h"

namespace {

using paravane::fake::SeedBytes;
using paravane::fake::UmadDoorAct;
using paravane::umad::Ask;

constexpr std::uint32_t kSecond = 1;  // of the adapters' names
constexpr std::uint32_t kByRoute = 0x81;
constexpr std::uint32_t kAdministration = 3;

class Script {
 public:
  Script& act(UmadDoorAct what, std::initializer_list<std::uint32_t> numbers = {}) {
    seed_.u8(std::to_underlying(what));
    for (const std::uint32_t number : numbers) seed_.u8(number);
    return *this;
  }
  Script& ask(std::uint32_t program, Ask what, std::uint32_t line = 0, std::uint32_t agent = 0,
              std::uint32_t a_class = 0, std::uint32_t segments = 0, std::uint32_t wanted = 255) {
    return act(UmadDoorAct::kQuestion, {program, static_cast<std::uint32_t>(what), kSecond, 1, line,
                                        agent, a_class, 1, segments, wanted});
  }
  const std::vector<std::uint8_t>& bytes() const { return seed_.bytes(); }

 private:
  SeedBytes seed_;
};

// A program with a line and an agent.
Script opened(std::uint32_t a_class, std::uint32_t segments = 0, std::uint32_t wanted = 255) {
  Script script;
  return script.act(UmadDoorAct::kConnect, {0})
      .ask(0, Ask::kOpen)
      .ask(0, Ask::kRegister, 0, 0, a_class, segments, wanted);
}

std::vector<Script> seeds() {
  std::vector<Script> all;
  Script questions = opened(kByRoute, 0, 1);
  for (std::uint32_t ask = 0; ask < 10; ++ask)
    questions.ask(0, static_cast<Ask>(ask), 1).act(UmadDoorAct::kConnect, {ask % 4});
  all.push_back(questions);
  // By route, of 0 to 2 hops; the last is to a port that is not there, and waits for its time.
  Script routes = opened(kByRoute, 0, 1);
  routes.ask(0, Ask::kManager);
  for (const std::uint32_t method : {1U, 2U}) {
    for (const std::uint32_t what : {0x11U, 0x15U, 0x20U}) {
      routes.act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, method, what, 0, 255, 0})
          .act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, method, what, 1, 255, 1, 1})
          .act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, method, what, 2, 255, 2, 1, 1})
          .act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, method, what, 3, 255, 2, 1, 77});
    }
  }
  routes.act(UmadDoorAct::kTime, {10}).act(UmadDoorAct::kRead, {0});
  routes.ask(0, Ask::kUnregister).ask(0, Ask::kClose);
  all.push_back(routes);
  // By LID, to itself and to another.
  Script lids = opened(kAdministration, 1, 1);
  for (const std::uint32_t lid : {1U, 3U, 9U})
    lids.act(UmadDoorAct::kMad, {0, 0, 0, 50, kAdministration, 1, 0x35, 0, lid, 0});
  lids.act(UmadDoorAct::kTime, {10}).act(UmadDoorAct::kRead, {0});
  all.push_back(lids);
  // A long MAD: total 4096, offset 0, no times, LID 1, queue pair 1, no GID, 4096 bytes. The
  // numbers are picks of hostile_number().
  for (const std::uint32_t total : {9U, 10U}) {
    Script parts = opened(kAdministration, 1, 1);
    parts.act(UmadDoorAct::kPart, {0, 0, 0, total, 0, 0, 0, 1, 0, 1, 0, 9, 0x12})
        .act(UmadDoorAct::kTime, {200})
        .act(UmadDoorAct::kClose, {0, 0});
    all.push_back(parts);
  }
  // Ends, in the middle of what goes on.
  Script ends = opened(kByRoute, 0, 1);
  ends.act(UmadDoorAct::kMad, {0, 0, 0, 255, kByRoute, 1, 0x11, 0, 255, 2, 1, 77})
      .act(UmadDoorAct::kClose, {0, 255})
      .act(UmadDoorAct::kTime, {100});
  all.push_back(ends);
  Script odd = opened(kByRoute, 0, 1);
  odd.act(UmadDoorAct::kOddMad, {0, 0, 3, 1, 2, 3}).act(UmadDoorAct::kOdd, {0, 5, 1, 2, 3, 4, 5});
  all.push_back(odd);
  Script adapters;
  adapters.act(UmadDoorAct::kConnect, {0}).act(UmadDoorAct::kAdapter);
  adapters.act(UmadDoorAct::kQuestion, {0, 4, 2, 1, 0, 0, 0, 0, 0, 255});
  adapters.act(UmadDoorAct::kQuestion, {0, 5, 2, 1, 0, 0, kByRoute, 1, 0, 1});
  adapters.act(UmadDoorAct::kQuestion, {0, 7, 2, 1, 0, 0, 0, 0, 0, 255});
  adapters.act(UmadDoorAct::kAdapter)
      .act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, 1, 0x11, 0, 255, 0});
  all.push_back(adapters);
  // One that does not read.
  Script deaf = opened(kByRoute, 0, 1);
  for (int i = 0; i < 40; ++i) {
    deaf.act(UmadDoorAct::kMad, {0, 0, 0, 50, kByRoute, 1, 0x11, 0, 255, 0});
    deaf.ask(0, Ask::kAdapters, 0, 0, 0, 4);
  }
  all.push_back(deaf);
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
