// LimitedLog: log lines that a stranger can cause, or that a failure repeats, under one
// LogLimit. What it keeps back is counted at the end of the next line.
//
// Owner thread only.

#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/instant.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/memory_shortage.h"

namespace paravane {

class LimitedLog {
 public:
  explicit LimitedLog(Duration interval = std::chrono::seconds(10), unsigned burst = 3)
      : limit_(interval, burst) {}

  template <typename... Args>
  void info(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(spdlog::level::info, now, text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(spdlog::level::warn, now, text, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(Instant now, fmt::format_string<Args...> text, Args&&... args) {
    say(spdlog::level::err, now, text, std::forward<Args>(args)...);
  }

 private:
  template <typename... Args>
  void say(spdlog::level::level_enum level, Instant now, fmt::format_string<Args...> text,
           Args&&... args) {
    const auto kept_back = limit_.allow(now);
    if (!kept_back) return;
    runs_in_memory([&] {  // what it tells of may be that there is none
      spdlog::log(level, "{}{}", fmt::format(text, std::forward<Args>(args)...),
                  kept_back_note(*kept_back));
    });
  }

  LogLimit limit_;
};

}  // namespace paravane
