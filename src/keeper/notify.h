// Notifier reports the daemon's state to systemd by the protocol of sd_notify(3). It sends a
// datagram of KEY=VALUE lines to the socket that the environment variable NOTIFY_SOCKET names.
// Without a service manager it does nothing.

#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>

#include "base/instant.h"
#include "base/limited_log.h"

namespace paravane::keeper {

class Notifier {
 public:
  // `address` is the value of NOTIFY_SOCKET; empty: no service manager.
  explicit Notifier(std::string address) : address_(std::move(address)) {}

  void ready(const std::string& status) const { send("READY=1\nSTATUS=" + status); }
  void status(const std::string& status) const { send("STATUS=" + status); }
  void stopping() const { send("STOPPING=1\nSTATUS=stopping"); }
  // One that is lost, because the service manager does not read, is not waited for: another follows
  // in time.
  void watchdog() const { send("WATCHDOG=1", MSG_DONTWAIT); }

 private:
  void send(const std::string& message, int flags = 0) const;

  std::string address_;
  mutable LimitedLog log_;
};

// Within which the service manager wants to hear of the daemon; zero: it does not. `usec` and `pid`
// are the values of WATCHDOG_USEC and WATCHDOG_PID, which may be null; `self` is this process.
Duration watchdog_limit(const char* usec, const char* pid, pid_t self);

}  // namespace paravane::keeper
