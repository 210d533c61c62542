// VfioServerRig: a vfio-user server with a FakePciDevice on a socket of its own,
// stepped by hand, and the clients that connect to it.
//
// One thread. The clock moves only when the test says so.

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/event_signal.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "guestmem/guest_memory.h"
#include "testing/fake_pci_device.h"
#include "testing/raw_vfio_client.h"
#include "testing/temp_dir.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/server.h"

namespace paravane {

class VfioServerRig : private vfio_user::AttachmentKeeper {
 public:
  struct Options {
    FakePciDevice::Options device = {};
    unsigned messages_per_turn = 64;
    bool keeps = false;  // what is attached, for a process that goes on if this one is killed
  };
  VfioServerRig() : VfioServerRig(Options{}) {}
  explicit VfioServerRig(Options options);

  // What a server has attached, as bytes, with copies of its descriptors.
  struct State {
    std::vector<std::byte> bytes;
    std::vector<UniqueFd> descriptors;
    UniqueFd exchange{};  // of what is kept; none: it was saved
  };
  // Gets what is kept, each time. Set it before a VMM connects.
  void keep_with(std::function<void(State)> keeper) { keeper_ = std::move(keeper); }
  // Another process that takes over from the server of this one, which has abandoned its own then.
  // Clients are to be pumped through it. Ends the test program when the state is refused.
  std::unique_ptr<VfioServerRig> hand_over();
  State save() const;
  // One that has nothing yet, for load(), which says why not when the state is refused.
  static std::unique_ptr<VfioServerRig> make_heir(const VfioServerRig& of);
  Status load(State state);

  // Ends the test program when the server does not come up.
  void start_server();
  void stop_server() { server_.reset(); }
  bool has_server() const { return server_ != nullptr; }

  // One turn of a worker: what is ready, what is due. Does not wait.
  void step();
  // The time moves; step() acts on it.
  void pass(Duration time) { clock_.now += time; }

  RawVfioClient connect();
  // Connected and through VERSION.
  RawVfioClient attach();

  const std::filesystem::path& socket_path() const { return socket_path_; }
  // A client is stepped through this rig from now on.
  void pump(RawVfioClient& client) {
    client.set_pump([this] { step(); });
  }
  EventLoop& loop() { return *loop_; }
  TimerQueue& timers() { return timers_; }
  GuestMemory& memory() { return memory_; }
  vfio_user::Interrupts& interrupts() { return interrupts_; }
  FakePciDevice& device() { return device_; }
  vfio_user::Server& server() { return *server_; }
  const vfio_user::ServerCounters& counters() const { return server_->counters(); }
  Instant now() const { return clock_.now; }

 private:
  VfioServerRig(const Options& options, std::shared_ptr<const TempDir> directory, Instant now);
  vfio_user::ServerConfig config();
  void keep_attachment() override;
  enum class Saved : std::uint8_t { kWhole, kWhatIsKept };
  State save(Saved what) const;

  Options options_;
  std::shared_ptr<const TempDir> directory_;
  std::filesystem::path socket_path_;
  TurnClock clock_{Instant(std::chrono::hours(1))};
  std::unique_ptr<EventLoop> loop_;
  TimerQueue timers_;
  EventSignal event_signal_;
  GuestMemory memory_;
  vfio_user::Interrupts interrupts_{FakePciDevice::kVectors};
  FakePciDevice device_;
  std::optional<vfio_user::Exchange> exchange_;
  std::function<void(State)> keeper_;
  std::unique_ptr<vfio_user::Server> server_;
};

}  // namespace paravane
