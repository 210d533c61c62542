// LogWriter: writes log lines on a thread of its own, so that a blocked reader of stderr (a stuck
// pipe, a journal that restarts) never delays a worker. Lines that do not fit are dropped, and the
// log reports their number.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace paravane::daemon {

class LogWriter {
 public:
  static constexpr std::size_t kMaxLines = 4096;

  // `fd` outlives the writer.
  explicit LogWriter(int fd);
  // Writes what is there.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Any thread; never waits for the reader. `line` ends with a newline.
  void push(std::string line);

 private:
  void run();
  void write_all(const std::string& text) const;

  int fd_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::string> lines_;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace paravane::daemon
