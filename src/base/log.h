// Writes log lines. A line is in lower case, begins with the object that it is about ("vm1: qp
// 0x11: ..."), and shows queue pair numbers in hexadecimal. A line that a guest can cause
// repeatedly must be written through a LimitedLog.
//
// The code in daemon/ decides where lines are written. If there is no memory for a line, the line
// is dropped. Any thread.

#pragma once

#include <fmt/core.h>

#include <utility>

namespace paravane::log {

enum class Level { kDebug, kInfo, kWarn, kError };

// Whether lines of this level are written: for a line whose arguments cost something.
bool writes(Level level);

// Formats and writes a line. This function is not a template, so the code that formats the
// arguments is compiled only once.
void write(Level level, fmt::string_view text, fmt::format_args args);

template <typename... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::kDebug, text, fmt::make_format_args(args...));
}
template <typename... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::kInfo, text, fmt::make_format_args(args...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::kWarn, text, fmt::make_format_args(args...));
}
template <typename... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::kError, text, fmt::make_format_args(args...));
}

}  // namespace paravane::log
