// LogLimit: limits how many log lines a guest or a peer can cause in an interval. Call allow()
// before each line. After lines have been suppressed, the next call that allows a line returns the
// number of suppressed lines.
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

  // The number of lines that were suppressed since the last allowed one. nullopt: this line must
  // not be written.
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

// A note for the end of an allowed line about suppressed lines; empty: `lines` is 0.
inline std::string kept_back_note(std::uint64_t lines) {
  return lines == 0 ? std::string() : " (" + std::to_string(lines) + " lines suppressed)";
}

}  // namespace paravane
