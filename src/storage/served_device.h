// ServedDevice: a device and the socket at which it is served by NBD.
//
// The socket is a file of the daemon's, named for the device. It is there while the device is.
//
// Worker thread only.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/socket_access.h"
#include "base/turn_clock.h"
#include "nbd/server.h"
#include "storage/device.h"

namespace paravane::storage {

// Where sockets are made, and which programs may use them.
struct SocketPlace {
  std::filesystem::path directory{};
  SocketAccess access{};
};

class ServedDevice {
 public:
  ServedDevice(UnitFacts facts, Device::Surroundings surroundings);
  ~ServedDevice();
  ServedDevice(const ServedDevice&) = delete;
  ServedDevice& operator=(const ServedDevice&) = delete;

  // Makes the socket in place of one that is left of an earlier engine, and listens. All outlive
  // it. REQUIRES: the lock of the directory is this daemon's. Errors: as listen_at(),
  // Server::open().
  Status serve(const SocketPlace& place, EventLoop& loop, const TurnClock& clock);

  Device& device() { return device_; }
  const Device& device() const { return device_; }
  // nullptr: it is not served.
  nbd::Server* server() { return server_.get(); }
  const nbd::Server* server() const { return server_.get(); }
  const std::filesystem::path& socket() const { return socket_; }
  // Why it is not served; empty: it is.
  const std::string& problem() const { return problem_; }

  bool is_woken = false;  // of the table: it is among those that have something to do

 private:
  Device device_;
  std::filesystem::path socket_;
  std::uint64_t file_ = 0;  // the number of its inode
  std::unique_ptr<nbd::Server> server_;
  std::string problem_ = "its socket has not been made";
};

}  // namespace paravane::storage
