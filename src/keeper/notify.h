// Notifier reports the daemon's state to systemd by the protocol of sd_notify(3). It sends a
// datagram of KEY=VALUE lines to the socket that the environment variable NOTIFY_SOCKET names.
// Without a service manager it does nothing.

#pragma once

#include <string>

#include "base/limited_log.h"

namespace paravane::keeper {

class Notifier {
 public:
  // `address` is the value of NOTIFY_SOCKET; empty: no service manager.
  explicit Notifier(std::string address) : address_(std::move(address)) {}

  void ready(const std::string& status) const { send("READY=1\nSTATUS=" + status); }
  void status(const std::string& status) const { send("STATUS=" + status); }
  void stopping() const { send("STOPPING=1\nSTATUS=stopping"); }

 private:
  void send(const std::string& message) const;

  std::string address_;
  mutable LimitedLog log_;
};

}  // namespace paravane::keeper
