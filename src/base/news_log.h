// NewsLog: logs the result of a check that is repeated often, such as whether a listener can be
// opened. A line is written when the text of the result changes, and once an hour while the text
// stays the same. If the text keeps changing, a LogLimit limits the rate of the lines.
//
// Owner thread only.

#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/instant.h"
#include "base/log.h"
#include "base/log_limit.h"

namespace paravane {

class NewsLog {
 public:
  template <typename... Args>
  void warn(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(log::Level::kWarn, now, text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(log::Level::kError, now, text, std::forward<Args>(args)...);
  }
  // The check succeeded. The next line is written even if its text is the same as before.
  void clear() { said_.clear(); }

 private:
  static constexpr Duration kAgain = std::chrono::hours(1);

  template <typename... Args>
  void say(log::Level level, Instant now, fmt::format_string<Args...> text, Args&&... args) {
    write(level, now, text, fmt::make_format_args(args...));
  }
  void write(log::Level level, Instant now, fmt::string_view text, fmt::format_args args);

  LogLimit limit_;
  std::string said_;
  Instant said_at_{};
};

}  // namespace paravane
