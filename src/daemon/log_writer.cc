#include "daemon/log_writer.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace paravane::daemon {

LogWriter::LogWriter(int fd) : fd_(fd) {
  // Signals are for the control thread, whenever it begins to take them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_one();
  thread_.join();
}

void LogWriter::push(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= kMaxLines) {
      ++dropped_;
      return;
    }
    lines_.push_back(std::move(line));
  }
  filled_.notify_one();
}

void LogWriter::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  written_.wait_for(lock, limit, [this] { return lines_.empty() && !is_writing_; });
}

void LogWriter::run() {
  pthread_setname_np(pthread_self(), "log");
  std::unique_lock lock(mutex_);
  for (;;) {
    filled_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
    if (lines_.empty()) return;
    std::deque<std::string> batch;
    batch.swap(lines_);
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    is_writing_ = true;
    lock.unlock();
    for (const std::string& line : batch) write_all(line);
    if (dropped != 0) write_all(fmt::format("({} log lines were dropped)\n", dropped));
    lock.lock();
    is_writing_ = false;
    written_.notify_all();
  }
}

void LogWriter::write_all(const std::string& text) const {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the reader is gone: there is nowhere to report it
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace paravane::daemon
