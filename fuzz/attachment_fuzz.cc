// A saved attachment that an enemy has changed: the engine before, which a guest has taken over.
// The first byte says in the middle of what it was saved; then come changes of its records and its
// descriptors.
//
// Besides crashes it looks for broken promises: what is refused leaves nothing open, what is
// adopted is saved and adopted again as the same bytes, and whatever the new server does, the
// server that has the VMM goes on.

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "attachment_script.h"
#include "fuzz_bytes.h"
#include "guestmem/memory_failure.h"
#include "promise.h"
#include "state_changes.h"
#include "testing/vfio_server_rig.h"

namespace paravane::fake {
namespace {

using vfio_user::Command;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kPage = 4096;

// A server with a VMM. It stays as it is; only its state is given away.
class Scene {
 public:
  explicit Scene(AttachmentScene scene) : client_(rig_.connect()) {
    switch (scene) {
      case AttachmentScene::kRest: attach(); break;
      case AttachmentScene::kMessage: {
        attach();
        const int fd = event_.get();
        client_.send_bytes(Bytes(5), {&fd, 1});
        rig_.step();
        client_.send_bytes(Bytes(5), {&fd, 1});
        break;
      }
      case AttachmentScene::kOwed:
        attach();
        rig_.device().defer({.writes = true});
        for (int i = 0; i < 3; ++i) client_.send(Command::kRegionWrite, access(1, 4, 4));
        break;
      case AttachmentScene::kSending:
        attach();
        for (int i = 0; i < 12; ++i) client_.send(Command::kRegionRead, access(2, 60000, 0));
        break;
      case AttachmentScene::kNoVersion: client_.send_bytes(Bytes(20)); break;
      case AttachmentScene::kNoClient:
      case AttachmentScene::kCount: client_.hang_up(); break;
    }
    for (int turn = 0; turn < 20; ++turn) rig_.step();
    rig_.device().clear_log();
  }

  VfioServerRig& rig() { return rig_; }
  RawVfioClient& client() { return client_; }
  bool is_untouched() { return rig_.device().log().empty() && rig_.has_server(); }

 private:
  void attach() {
    require(client_.negotiate().has_value());
    client_.dma_map(memory_.get(), 0, 0, 4 * kPage);
    client_.dma_map(memory_.get(), 8 * kPage, 0x100000, 4 * kPage);
    client_.dma_map(other_memory_.get(), 0, 0x80000, 4 * kPage, 1);
    client_.dma_map(-1, 0, 0x200000, kPage);
    client_.dma_unmap(kPage, kPage);
    const std::array<int, 2> events{event_.get(), event_.get()};
    client_.set_irqs(0x24, {.start = 0, .count = 2}, events);
    rig_.interrupts().signal(2);
    client_.set_bus_master(true);
  }
  static Bytes access(std::uint32_t region, std::uint32_t count, std::size_t data) {
    const vfio_user::RegionAccess access{
        .offset = {}, .region = Le32(region), .count = Le32(count)};
    return RawVfioClient::join({RawVfioClient::bytes_of(access), Bytes(data)});
  }

  const UniqueFd memory_ = memory_file(16 * kPage);
  const UniqueFd other_memory_ = memory_file(4 * kPage);
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  VfioServerRig rig_;
  RawVfioClient client_;
};

// A server that has adopted a state works, as if nothing were.
void play(VfioServerRig& heir) {
  // Plain writes: the end of an EventSignal takes milliseconds.
  heir.interrupts().signal_through(nullptr);
  for (int turn = 0; turn < 4; ++turn) heir.step();
  for (std::uint16_t vector = 0; vector < FakePciDevice::kVectors; ++vector) {
    heir.interrupts().signal(vector);
  }
  for (std::uint64_t token = 0; token < 16; ++token) {
    heir.server().answer(vfio_user::ReplyToken{token});
  }
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x80000}, kPage}) {
    static_cast<void>(heir.memory().read<std::uint64_t>(GuestAddr{address}));
    static_cast<void>(heir.memory().write(GuestAddr{address}, std::uint64_t{1}));
  }
  for (int turn = 0; turn < 4; ++turn) heir.step();
  heir.pass(std::chrono::seconds(20));
  for (int turn = 0; turn < 4; ++turn) heir.step();
}

void run(Scene& scene, FuzzBytes script) {
  const std::size_t at_rest = open_descriptors();
  VfioServerRig::State state = scene.rig().save();
  StateChanges(script, state.bytes, state.descriptors, scene.client().socket()).make();
  {
    const auto heir = VfioServerRig::make_heir(scene.rig());
    if (heir->load(std::move(state))) {
      VfioServerRig::State again = heir->save();
      const Bytes bytes = again.bytes;
      {
        const auto next = VfioServerRig::make_heir(scene.rig());
        require(next->load(std::move(again)).has_value());
        require(next->save().bytes == bytes);
        next->server().abandon();
      }
      play(*heir);
    }
    if (heir->has_server()) heir->server().abandon();
  }
  require(scene.is_untouched());
  require(std::filesystem::exists(scene.rig().socket_path()));
  require(open_descriptors() == at_rest);
  // What a lying server has sent.
  std::array<std::byte, 65536> ignored;
  while (scene.client().connected() &&
         ::recv(scene.client().socket(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool survives_failures = paravane::install_memory_failure_handler().has_value();
  paravane::fake::require(survives_failures);
  using paravane::fake::AttachmentScene;
  using paravane::fake::Scene;
  static const bool wants_log = std::getenv("ATTACHMENT_FUZZ_LOG") != nullptr;
  spdlog::set_level(wants_log ? spdlog::level::debug : spdlog::level::off);
  static constexpr std::size_t kScenes = std::to_underlying(AttachmentScene::kCount);
  static std::array<std::unique_ptr<Scene>, kScenes> scenes;
  paravane::fake::FuzzBytes script(data, size);
  const std::size_t which = script.below(kScenes);
  if (!scenes[which]) {
    scenes[which] = std::make_unique<Scene>(static_cast<AttachmentScene>(which));
  }
  paravane::fake::run(*scenes[which], script);
  return 0;
}
