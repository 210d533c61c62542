// LimitedLog: writes log lines that another program or a repeated failure can cause, and suppresses
// lines above the rate that a LogLimit allows. After lines have been suppressed, the next line that
// is written ends with the number of suppressed lines.
//
// Owner thread only.

#pragma once

#include <fmt/core.h>

#include <utility>

#include "base/instant.h"
#include "base/log.h"
#include "base/log_limit.h"

namespace paravane {

class LimitedLog {
 public:
  explicit LimitedLog(Duration interval = std::chrono::seconds(10), unsigned burst = 3)
      : limit_(interval, burst) {}

  template <typename... Args>
  void info(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(log::Level::kInfo, now, text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(log::Level::kWarn, now, text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(log::Level::kError, now, text, std::forward<Args>(args)...);
  }

 private:
  template <typename... Args>
  void say(log::Level level, Instant now, fmt::format_string<Args...> text, Args&&... args) {
    write(level, now, text, fmt::make_format_args(args...));
  }
  void write(log::Level level, Instant now, fmt::string_view text, fmt::format_args args);

  LogLimit limit_;
};

}  // namespace paravane
