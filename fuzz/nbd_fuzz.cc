// Programs of the host at the socket of a served device: any bytes, and right and wrong messages of
// the protocol, in any order and from several at once, while the device is slow, fails or waits.
//
// What must hold besides the sanitizers: each turn has an end, and without news there is nothing to
// do; no request leaves the device, and none comes that the device does not offer (the disk in
// memory looks at each); one program has the device at most; connections, requests and the device's
// memory that a program holds have bounds; and when all have gone, nothing of them is left.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "nbd/request_table.h"
#include "nbd_script.h"
#include "promise.h"
#include "testing/nbd_rig.h"

namespace paravane::fake {
namespace {

constexpr int kMostActs = 200;
constexpr std::size_t kPrograms = 3;

class NbdFuzz {
 public:
  explicit NbdFuzz(FuzzBytes& input) : input_(input), rig_(config_of(input.u8())) {
    for (std::optional<NbdProgram>& one : programs_) one.emplace(rig_.connect());
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act(static_cast<NbdAct>(input_.below(std::to_underlying(NbdAct::kCount))));
      require(rig_.settle());
      look();
    }
    end();
  }

 private:
  static MemoryDisk::Config config_of(std::uint8_t kind) {
    MemoryDisk::Config config;
    config.buffers = 3;
    config.geometry.most_bytes = 16384;
    if ((kind & 1) != 0) config.geometry.is_read_only = true;
    if ((kind & 2) != 0) config.geometry.block_bytes = 4096;
    if ((kind & 4) != 0) config.geometry.has_write_cache = false;
    if ((kind & 8) != 0) config.geometry.can_trim = config.geometry.can_write_zeroes = false;
    if ((kind & 16) != 0) config.geometry.are_zeroes_fast = false;
    return config;
  }

  void look() {
    require(rig_.server->connections() <= nbd::Server::kMostConnections);
    require(rig_.disk.is_open() == rig_.server->is_in_use());
    require(rig_.disk.buffers_taken() <= 3);
    require(rig_.counters().most_requests.value() <= nbd::RequestTable::kPlaces);
    require(!rig_.server->has_work());
    // What is done is done: nothing is held for a program that has gone.
    if (rig_.server->connections() == 0 && rig_.disk.under_way() == 0)
      require(rig_.disk.buffers_taken() == 0);
  }

  // All go, and one that is right finds the device free.
  void end() {
    rig_.disk.hold(false);
    rig_.disk.delay_ready(false);
    rig_.disk.fail_with(nbd::BlockResult::kDone);
    for (std::optional<NbdProgram>& one : programs_) one->close();
    require(rig_.settle());
    require(rig_.server->connections() == 0 && !rig_.disk.is_open());
    require(rig_.disk.under_way() == 0 && rig_.disk.buffers_taken() == 0);
    NbdProgram right = rig_.connect();
    require(right.enter());
    right.request(nbd::Command::kRead, 7, 4096, 8192);
    const NbdReply reply = right.take_reply();
    require(reply.handle == 7 && reply.payload.size() == 8192);
  }

  NbdProgram& program() { return *programs_[chosen_]; }

  Bytes some_bytes(std::size_t count) {
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = std::byte{input_.u8()};
    return bytes;
  }

  void act(NbdAct what) {
    switch (what) {
      case NbdAct::kBytes: program().send(some_bytes(input_.u8())); return;
      case NbdAct::kHello: program().send(joined(Be32(input_.u8()))); return;
      case NbdAct::kOption: return send_option();
      case NbdAct::kQuery: return send_query();
      case NbdAct::kEnter: program().enter(input_.below(2) != 0); return;
      case NbdAct::kRequest: return send_request();
      case NbdAct::kOddRequest: {
        const auto command = static_cast<nbd::Command>(input_.u8());
        const std::uint16_t flags = input_.u16();
        const std::uint64_t offset = hostile_long_number(input_);
        program().send(request_of(command, 1, offset, hostile_number(input_), flags));
        return;
      }
      case NbdAct::kPayload: program().send(Bytes(std::size_t{100} * input_.u8())); return;
      case NbdAct::kRead: program().take_bytes(program().waiting()); return;
      case NbdAct::kConnect: programs_[input_.below(kPrograms)].emplace(rig_.connect()); return;
      case NbdAct::kClose: program().close(); return;
      case NbdAct::kStopSending: program().shut_down_sending(); return;
      case NbdAct::kChoose: chosen_ = input_.below(kPrograms); return;
      case NbdAct::kTime: rig_.clock.now += std::chrono::milliseconds(input_.u16()); return;
      case NbdAct::kHold: rig_.disk.hold(input_.below(2) != 0); return;
      case NbdAct::kComplete: {
        const std::size_t number = input_.u8();
        if (number < rig_.disk.under_way()) rig_.disk.complete(number);
        return;
      }
      case NbdAct::kFail:
        rig_.disk.fail_with(static_cast<nbd::BlockResult>(input_.below(8)));
        return;
      case NbdAct::kDelayReady: rig_.disk.delay_ready(input_.below(2) != 0); return;
      case NbdAct::kTurn:
        rig_.turn = {.bytes = 1 + 100 * input_.u8(), .operations = 1 + input_.u8()};
        return;
      case NbdAct::kCount: return;
    }
  }

  void send_option() {
    const auto option = static_cast<nbd::Option>(input_.u8());
    const std::uint8_t count = input_.u8();
    Bytes data = some_bytes(count == 255 ? 0 : count);
    if (count == 255) data.resize(input_.u16());
    program().say(option, data);
  }

  void send_query() {
    const nbd::Option option = input_.below(2) != 0 ? nbd::Option::kGo : nbd::Option::kInfo;
    const bool is_right = input_.below(4) != 0;
    std::vector<nbd::Information> wanted(input_.below(6));
    for (nbd::Information& one : wanted) one = static_cast<nbd::Information>(input_.below(5));
    program().say(option, query_of(is_right ? rig_.disk.name() : "other", wanted));
  }

  // One that a program may send, for the most part.
  void send_request() {
    const auto command = static_cast<nbd::Command>(input_.below(8));
    const std::uint16_t flags = input_.u8();
    const std::uint64_t offset = std::uint64_t{512} * input_.u8();
    const std::uint32_t length = std::uint32_t{512} * input_.below(40);
    Bytes all = request_of(command, input_.u8(), offset, length, flags);
    if (command == nbd::Command::kWrite) all.resize(all.size() + length);
    program().send(all);
  }

  FuzzBytes& input_;
  NbdRig rig_;
  std::array<std::optional<NbdProgram>, kPrograms> programs_;
  std::size_t chosen_ = 0;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::NbdFuzz(input).run();
  return 0;
}
