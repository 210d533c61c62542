#include "testing/vfio_server_rig.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace paravane {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "paravane-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

VfioServerRig::VfioServerRig(Options options)
    : options_(options),
      socket_path_(directory_.path() / "vm.sock"),
      loop_(std::move(EventLoop::create().value())),
      device_(options.device) {
  interrupts_.signal_through(&event_signal_);
  start_server();
}

void VfioServerRig::start_server() {
  auto server = vfio_user::Server::listen(
      vfio_user::ServerConfig{.name = "vm1",
                              .socket_path = socket_path_,
                              .messages_per_turn = options_.messages_per_turn},
      *loop_, {timers_, clock_}, device_, memory_, interrupts_);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    std::abort();
  }
  server_ = std::move(*server);
}

void VfioServerRig::step() {
  clock_.now += std::chrono::microseconds(1);
  if (!loop_->poll(Duration(0))) std::abort();
  timers_.run_due(clock_.now);
}

RawVfioClient VfioServerRig::connect() {
  return RawVfioClient(socket_path_, [this] { step(); });
}

RawVfioClient VfioServerRig::attach() {
  RawVfioClient client = connect();
  if (!client.negotiate()) std::abort();
  return client;
}

}  // namespace paravane
