// OwnNetwork: while it lives, this thread is in a network namespace of its own, empty but
// for the loopback interface, so that a test makes what interfaces it likes. The tests
// after it have the network that was before.
//
// REQUIRES: root.

#pragma once

#include <fcntl.h>
#include <sched.h>

#include <cstdlib>
#include <string>

#include "base/unique_fd.h"

namespace paravane {

class OwnNetwork {
 public:
  OwnNetwork()
      : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)),
        made_(before_ && ::unshare(CLONE_NEWNET) == 0) {}
  ~OwnNetwork() {
    if (made_) ::setns(before_.get(), CLONE_NEWNET);
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  bool made() const { return made_; }

  // ip(8) with these words. False: it failed.
  bool ip(const std::string& words) const { return shell("ip " + words); }
  // The same of bridge(8).
  bool bridge(const std::string& words) const { return shell("bridge " + words); }
  // Whether ip(8) prints this text for these words.
  bool ip_shows(const std::string& words, const std::string& text) const {
    return shell("ip " + words + " | grep -qF -- '" + text + "'");
  }
  bool is_there(const std::string& link) const { return shell("ip link show dev " + link); }

 private:
  bool shell(const std::string& line) const {
    return made_ && std::system((line + " >/dev/null 2>&1").c_str()) == 0;
  }

  UniqueFd before_;
  bool made_;
};

}  // namespace paravane
