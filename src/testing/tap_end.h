// TapEnd: the program's end of a tap, which plays a guest or another host: what is written comes
// out of the network interface, and what the interface sends can be read.
//
// REQUIRES: root.

#pragma once

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace paravane {

class TapEnd {
 public:
  using Frame = std::vector<std::uint8_t>;

  // Opens the tap. A tap that does not exist is created, and exists as long as this object.
  explicit TapEnd(const std::string& name)
      : tap_(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)) {
    ifreq request{};
    name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (!tap_ || ::ioctl(tap_.get(), TUNSETIFF, &request) != 0) tap_.reset();
  }
  // With vnet headers of this many bytes before each frame, which write() adds as zeros and read()
  // keeps.
  TapEnd(UniqueFd tap, std::size_t header) : tap_(std::move(tap)), header_(header) {}

  bool is_open() const { return static_cast<bool>(tap_); }
  int fd() const { return tap_.get(); }

  bool write(const Frame& frame) const {
    Frame all(header_, 0);
    all.insert(all.end(), frame.begin(), frame.end());
    return write_whole(all);
  }
  bool write_whole(const Frame& header_and_frame) const {
    const ssize_t size = ::write(tap_.get(), header_and_frame.data(), header_and_frame.size());
    return size == static_cast<ssize_t>(header_and_frame.size());
  }
  // The next frame; nullopt: none comes for that long.
  std::optional<Frame> read(int milliseconds) const {
    pollfd ready{.fd = tap_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, milliseconds) != 1) return std::nullopt;
    Frame frame(std::size_t{128} * 1024);
    const ssize_t size = ::read(tap_.get(), frame.data(), frame.size());
    if (size < 0) return std::nullopt;
    frame.resize(static_cast<std::size_t>(size));
    return frame;
  }

 private:
  UniqueFd tap_;
  std::size_t header_ = 0;
};

}  // namespace paravane
