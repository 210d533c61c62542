// LogCapture: what the program logs while this lives, for a test to look at.

#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace paravane {

class LogCapture {
 public:
  explicit LogCapture(spdlog::level::level_enum level = spdlog::level::info)
      : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "capture", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_level(level);
    spdlog::set_default_logger(std::move(logger));
    // A sanitizer that looks at an object of a class for the first time takes
    // descriptors, and what is logged may be that there are none.
    spdlog::critical("{}", std::string("first look"));
    lines_.str("");
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::string text() const { return lines_.str(); }
  std::size_t lines() const {
    const std::string all = text();
    return static_cast<std::size_t>(std::ranges::count(all, '\n'));
  }

 private:
  std::ostringstream lines_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace paravane
