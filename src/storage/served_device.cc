#include "storage/served_device.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/unix_listener.h"

namespace paravane::storage {
namespace {

// What an engine left that was killed or replaced. listen_at() cannot tell that nothing listens
// there any more, because the sandbox lets this process connect to nothing.
void remove_left_socket(const std::filesystem::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) ::unlink(path.c_str());
}

}  // namespace

ServedDevice::ServedDevice(UnitFacts facts, Device::Surroundings surroundings)
    : device_(std::move(facts), std::move(surroundings)) {}

ServedDevice::~ServedDevice() {
  if (server_ == nullptr) return;
  server_.reset();
  ::unlink(socket_.c_str());
}

Status ServedDevice::serve(const SocketPlace& place, EventLoop& loop, const TurnClock& clock) {
  socket_ = place.directory / (device_.facts().name + ".lun");
  const auto open = [&]() -> Status {
    remove_left_socket(socket_);
    auto listener = listen_at(socket_, SOCK_STREAM, place.access);
    if (!listener) return std::unexpected(listener.error());
    const UnitFacts& facts = device_.facts();
    server_ =
        std::make_unique<nbd::Server>(device_, facts.vendor + " " + facts.product, loop, clock);
    return server_->open(std::move(*listener));
  };
  Status opened = open();
  problem_ = opened ? std::string() : opened.error().message;
  return opened;
}

}  // namespace paravane::storage
