// OwnTerminal: a terminal, and the shell that controls it.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"

namespace paravane::vmm {

class OwnTerminal {
 public:
  OwnTerminal() {
    int controller = -1;
    int terminal = -1;
    EXPECT_EQ(::openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
    controller_ = UniqueFd(controller);
    terminal_ = UniqueFd(terminal);
  }

  int controller() const { return controller_.get(); }
  int terminal() const { return terminal_.get(); }

  // What was written to it up to now.
  std::string shown() const {
    ::fcntl(controller(), F_SETFL, O_NONBLOCK);
    std::string text;
    for (char c = 0; ::read(controller(), &c, 1) == 1;) text += c;
    return text;
  }

  // Whether this process has a terminal.
  static bool is_there() { return UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY)).get() >= 0; }
  static int exit_status(pid_t process) {
    int status = -1;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // The exit status of a process that leads the terminal's session, and of one that does not.
  template <typename Act>
  int in_leader(Act act) const {
    const pid_t leader = ::fork();
    if (leader != 0) return exit_status(leader);
    if (::setsid() < 0 || ::ioctl(terminal(), TIOCSCTTY, 0) != 0 || !is_there()) ::_exit(90);
    ::_exit(act());
  }
  template <typename Act>
  int in_job(Act act) const {
    return in_leader([&act] {
      const pid_t job = ::fork();
      if (job == 0) ::_exit(is_there() ? act() : 91);
      const int status = exit_status(job);
      return is_there() ? status : 92;  // the shell keeps it
    });
  }

 private:
  UniqueFd controller_;
  UniqueFd terminal_;
};

}  // namespace paravane::vmm
