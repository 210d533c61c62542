// TwoNetworks: two network namespaces of our own, joined by a veth pair: what two hosts
// have between them. They have no names, so that they are gone with this process, however
// it ends.
//
// REQUIRES: root. One thread.

#pragma once

#include <array>
#include <functional>
#include <string>

#include "base/unique_fd.h"

namespace paravane::bench {

class TwoNetworks {
 public:
  TwoNetworks();

  // Runs `work` on a thread that is in a host's network, and waits for its end.
  void in(unsigned side, const std::function<void()>& work) const;
  // For setns(2).
  int network(unsigned side) const { return networks_[side].get(); }
  static std::string address(unsigned side);

  // A TCP connection from the first to the second, with the daemon's options; sockets that do not
  // block.
  std::array<UniqueFd, 2> connect() const;

 private:
  std::array<UniqueFd, 2> networks_;
};

}  // namespace paravane::bench
