// RunningCaptures: the captures that one thread fills, each with its sources: what sees the traffic
// of an adapter or a port, and puts it into the capture. A capture ends with its last source, and
// when its client has not read it for kCaptureReaderSeconds.
//
// The thread that fills them only.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/limited_log.h"
#include "capture/capture.h"

namespace paravane::capture {

// `Source`: puts packets into the capture's ring until it is destroyed.
template <typename Source>
class RunningCaptures {
 public:
  RunningCaptures() = default;
  ~RunningCaptures() {
    for (Running& running : running_) stop(running);
  }
  RunningCaptures(const RunningCaptures&) = delete;
  RunningCaptures& operator=(const RunningCaptures&) = delete;

  // Without sources, the capture has ended.
  void add(std::shared_ptr<Capture> capture, std::vector<std::unique_ptr<Source>> sources) {
    if (sources.empty()) return capture->end();
    running_.push_back({.capture = std::move(capture), .sources = std::move(sources)});
  }

  // A missing capture is not an error.
  void end(std::uint64_t id) {
    std::erase_if(running_, [id](Running& running) {
      if (running.capture->id() != id) return false;
      stop(running);
      return true;
    });
  }

  // Destroys the sources for which `is_gone(source)`.
  template <typename Predicate>
  void forget_if(Predicate is_gone) {
    std::erase_if(running_, [&is_gone](Running& running) {
      std::erase_if(running.sources,
                    [&is_gone](const auto& source) { return is_gone(std::as_const(*source)); });
      if (!running.sources.empty()) return false;
      stop(running);
      return true;
    });
  }

  // When a capture ends, unless it is read before; kNever.
  Instant next_end() const {
    Instant next = kNever;
    for (const Running& running : running_)
      next = std::min(next, running.capture->last_read() + kReaderTime);
    return next;
  }
  // Ends those that were not read in time. Returns whether there were any.
  bool end_unread(Instant now) {
    return std::erase_if(running_, [this, now](Running& running) {
             if (running.capture->last_read() + kReaderTime > now) return false;
             left_.warn(now, "{}: the capture ended, because no client reads it",
                        model::captured(running.capture->spec()));
             stop(running);
             return true;
           }) > 0;
  }

 private:
  static constexpr Duration kReaderTime = std::chrono::seconds(model::kCaptureReaderSeconds);

  struct Running {
    std::shared_ptr<Capture> capture;
    std::vector<std::unique_ptr<Source>> sources;
  };
  static void stop(Running& running) {
    running.sources.clear();
    running.capture->end();
  }

  std::vector<Running> running_;
  LimitedLog left_;  // captures without a reader
};

}  // namespace paravane::capture
