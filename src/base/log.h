// Log lines: lower case, subject first ("vm1: qp 0x11: ..."), QP numbers in hex. Anything that a
// guest can cause repeatedly goes through a LimitedLog. daemon/ decides where lines are written.
//
// Any thread. A line is dropped if there is no memory for it.

#pragma once

#include <fmt/core.h>

#include <utility>

namespace paravane::log {

enum class Level { kDebug, kInfo, kWarn, kError };

// Not a template: what makes a text of its arguments is compiled once, not in each source.
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
