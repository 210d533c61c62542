#include "storage/served_device.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/unix_listener.h"

namespace paravane::storage {
namespace {

// What the engine before has left, which is not asked whether it listens: this one may not connect,
// and has the directory's lock.
void remove_left_socket(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_socket(std::filesystem::symlink_status(path, error))) {
    ::unlink(path.c_str());
  }
}

std::uint64_t file_at(const std::filesystem::path& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace

ServedDevice::ServedDevice(UnitFacts facts, Device::Surroundings surroundings)
    : device_(std::move(facts), std::move(surroundings)) {}

ServedDevice::~ServedDevice() {
  if (server_ == nullptr) return;
  server_.reset();
  // Another engine may have put its own there.
  if (file_at(socket_) == file_) ::unlink(socket_.c_str());
}

Status ServedDevice::serve(const SocketPlace& place, EventLoop& loop, const TurnClock& clock) {
  socket_ = place.directory / (device_.facts().name + ".lun");
  const auto open = [&]() -> Status {
    remove_left_socket(socket_);
    auto listener = listen_at(socket_, SOCK_STREAM, place.access);
    if (!listener) return std::unexpected(listener.error());
    file_ = file_at(socket_);
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
