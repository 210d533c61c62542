// The file of an exchange that an enemy has left: a process that a guest had taken over, and that
// was killed then. The first byte says in the middle of what, then come changes of the file.
// Another process goes on with it and with what was kept of the attachment.
//
// Besides crashes it looks for broken promises: the file is no place to read anything else from, no
// request that waits reaches the device twice, and a server that adopts what is refused leaves
// nothing open. What is served goes on, or the VMM's connection ends; another VMM is served.

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange_script.h"
#include "fuzz_bytes.h"
#include "promise.h"
#include "state_changes.h"
#include "testing/vfio_server_rig.h"

namespace paravane::fake {
namespace {

using vfio_user::Command;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kFileBytes = 4096 + 2 * vfio_user::Exchange::kMostAnswer;
constexpr std::uint16_t kWaiting = 4;
constexpr std::uint64_t kFirstOffset = 0x20;

Bytes access(std::uint32_t region, std::uint64_t offset, std::uint32_t count, std::size_t data) {
  const vfio_user::RegionAccess access{
      .offset = Le64(offset), .region = Le32(region), .count = Le32(count)};
  return RawVfioClient::join({RawVfioClient::bytes_of(access), Bytes(data)});
}

// The state of an attachment, in the middle of it.
class Killed {
 public:
  explicit Killed(ExchangeScene scene) {
    rig_.keep_with([this](VfioServerRig::State state) { kept_ = std::move(state); });
    client_.emplace(rig_.attach());
    client_->set_bus_master(true);
    if (scene == ExchangeScene::kWaiting) write_registers();
    if (scene == ExchangeScene::kSending) {
      for (int i = 0; i < 12; ++i) client_->send(Command::kRegionRead, access(2, 0, 60000, 0));
      for (int i = 0; i < 20; ++i) rig_.step();
      write_registers();
    }
    rig_.device().clear_log();
  }
  VfioServerRig& rig() { return rig_; }
  VfioServerRig::State& kept() { return kept_; }
  RawVfioClient& client() { return *client_; }

 private:
  void write_registers() {
    for (std::uint16_t i = 0; i < kWaiting; ++i) {
      client_->send(Command::kRegionWrite, access(1, kFirstOffset + 4U * i, 4, 4));
    }
  }

  VfioServerRig rig_{{.keeps = true}};
  VfioServerRig::State kept_;
  std::optional<RawVfioClient> client_;
};

void change(int file, FuzzBytes& script) {
  const auto write = [file](const void* from, std::size_t bytes, std::uint64_t at) {
    const std::uint64_t fits = std::min<std::uint64_t>(bytes, kFileBytes - at);
    require(::pwrite(file, from, fits, static_cast<off_t>(at)) == static_cast<ssize_t>(fits));
  };
  const auto any = [&script] { return Le64(hostile_long_number(script)); };
  for (int acts = 0; acts < 20 && !script.at_end(); ++acts) {
    switch (static_cast<ExchangeAct>(script.below(std::to_underlying(ExchangeAct::kCount)))) {
      case ExchangeAct::kByte: {
        const std::uint64_t at = script.u16() % 4096U;
        const std::uint8_t value = script.u8();
        write(&value, 1, at);
        break;
      }
      case ExchangeAct::kWord: {
        const std::uint64_t at = 8 * std::uint64_t{script.below(16)};
        const Le64 value = any();
        write(&value, sizeof value, at);
        break;
      }
      case ExchangeAct::kAnswer: {
        const std::uint64_t at = 4096 + std::uint64_t{script.u16()};
        const Bytes bytes(script.u8(), static_cast<std::byte>(script.u8()));
        write(bytes.data(), bytes.size(), at);
        break;
      }
      case ExchangeAct::kPlace:
        ::lseek(file, static_cast<off_t>(any().get()), SEEK_SET);  // one that cannot be stays
        break;
      case ExchangeAct::kSerial: {
        Le64 serial;
        require(::pread(file, &serial, sizeof serial, 24) == sizeof serial);
        serial = Le64(serial.get() + script.below(3) - 1);
        write(&serial, sizeof serial, 24);
        break;
      }
      case ExchangeAct::kCount: break;
    }
  }
}

// Nothing waits for a VMM that does not read.
void drain(RawVfioClient& client, std::uint64_t& bytes) {
  std::array<std::byte, 65536> some;
  for (;;) {
    const ssize_t got = ::recv(client.socket(), some.data(), some.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    bytes += static_cast<std::uint64_t>(got);
  }
}

void serve(VfioServerRig& heir, RawVfioClient& client, std::uint64_t already_sent) {
  std::uint64_t bytes = 0;
  for (int turn = 0; turn < 40; ++turn) {
    heir.step();
    drain(client, bytes);
  }
  // A forged answer has the size of the file at most; the others are what was asked for.
  require(bytes <= already_sent + kFileBytes + 14 * 70'000);
  const std::vector<std::string>& log = heir.device().log();
  for (std::uint16_t i = 0; i < kWaiting; ++i) {
    const std::string offset = fmt::format("{:#x}", kFirstOffset + 4U * i);
    require(std::ranges::count_if(log, [&](const std::string& line) {
              return line.starts_with("write 1 " + offset + " ");
            }) <= 1);
  }
}

void run(ExchangeScene scene, FuzzBytes script) {
  const std::size_t at_rest = open_descriptors();
  {
    Killed killed(scene);
    VfioServerRig::State state = std::move(killed.kept());
    change(state.exchange.get(), script);
    killed.rig().server().abandon();
    const auto heir = VfioServerRig::make_heir(killed.rig());
    heir->device().take_over(killed.rig().device());
    heir->device().clear_log();
    const bool is_adopted = heir->load(std::move(state)).has_value();
    if (is_adopted) {
      serve(*heir, killed.client(), 12 * 70'000);
      killed.client().hang_up();
      for (int turn = 0; turn < 8; ++turn) heir->step();
      RawVfioClient next = heir->connect();
      require(next.negotiate().has_value());
    }
    if (heir->has_server() && !is_adopted) heir->server().abandon();
  }
  require(open_descriptors() == at_rest);
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paravane::fake::ExchangeScene;
  static const bool is_ready = ::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
  paravane::fake::require(is_ready);
  static const bool wants_log = std::getenv("EXCHANGE_FUZZ_LOG") != nullptr;
  spdlog::set_level(wants_log ? spdlog::level::debug : spdlog::level::off);
  paravane::fake::FuzzBytes script(data, size);
  const auto scene =
      static_cast<ExchangeScene>(script.below(std::to_underlying(ExchangeScene::kCount)));
  paravane::fake::run(scene, script);
  return 0;
}
