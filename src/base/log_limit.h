// LogLimit: keeps a guest or a peer from flooding the log. Call allow() before logging; the first
// line allowed after a pause reports how many were suppressed.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/instant.h"

namespace paravane {

class LogLimit {
 public:
  explicit LogLimit(Duration interval = std::chrono::seconds(10), unsigned burst = 3)
      : interval_(interval), burst_(burst) {}

  // The number of lines kept back since the last allowed one, or nullopt: say
  // nothing now.
  std::optional<std::uint64_t> allow(Instant now) {
    if (now - window_start_ >= interval_) {
      window_start_ = now;
      used_ = 0;
    }
    if (used_ >= burst_) {
      ++kept_back_;
      return std::nullopt;
    }
    ++used_;
    const std::uint64_t kept_back = kept_back_;
    kept_back_ = 0;
    return kept_back;
  }

 private:
  Duration interval_;
  unsigned burst_;
  Instant window_start_{};
  unsigned used_ = 0;
  std::uint64_t kept_back_ = 0;
};

// To be put at the end of an allowed line; empty: none was.
inline std::string kept_back_note(std::uint64_t lines) {
  return lines == 0 ? std::string() : " (" + std::to_string(lines) + " lines suppressed)";
}

}  // namespace paravane
