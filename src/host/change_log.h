// ChangeLog writes one log line for each change that an API client or the cluster makes on this
// host. It drops lines above a limit, so that a client cannot flood the log.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <utility>

#include "base/limited_log.h"

namespace paravane::host {

class ChangeLog {
 public:
  static constexpr unsigned kLines = 30;  // in ten seconds

  template <typename... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) {
    log_.info(now(), text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    log_.warn(now(), text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) {
    log_.error(now(), text, std::forward<Args>(args)...);
  }

 private:
  static Instant now() { return std::chrono::steady_clock::now(); }

  LimitedLog log_{std::chrono::seconds(10), kLines};
};

}  // namespace paravane::host
