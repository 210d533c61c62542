// Ethtool asks and tells drivers of network interfaces by the ioctl of ethtool(8). Most questions
// need no privileges. Blocks until the driver answers. One thread.

#pragma once

#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <string>

#include "base/unique_fd.h"

namespace paravane::ethernet {

class Ethtool {
 public:
  // Any socket will do, and the systemd unit allows this kind.
  Ethtool() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  bool opened() const { return static_cast<bool>(socket_); }

  // One request of <linux/ethtool.h>, which the kernel changes into the answer. False: there is
  // none, and errno says why.
  bool ask(const std::string& name, void* question) const {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(question);
    return ::ioctl(socket_.get(), SIOCETHTOOL, &request) >= 0;
  }

 private:
  UniqueFd socket_;
};

}  // namespace paravane::ethernet
