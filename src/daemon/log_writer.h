// LogWriter: writes log lines to a descriptor in a separate thread. Writing to the descriptor can
// block, for example because a pipe is full or the journal restarts. The separate thread then
// waits, and the threads that log are not delayed. Lines that do not fit into the queue are
// dropped, and a log line reports how many were dropped.

#pragma once

#include <chrono>
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
  // Writes the remaining lines.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Adds a line, which must end with a newline. Any thread. Never waits for the reader.
  void push(std::string line);

  // Waits until the lines of before are written, at most `limit`: the reader may not read.
  void flush(std::chrono::milliseconds limit);

 private:
  void run();
  void write_all(const std::string& text) const;

  int fd_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::string> lines_;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  bool is_writing_ = false;
  std::condition_variable written_;
  std::thread thread_;
};

}  // namespace paravane::daemon
