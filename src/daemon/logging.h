// Logging: sends all log lines of this process to stderr, as text or as one JSON object per line. A
// separate thread writes them.

#pragma once

#include <chrono>
#include <string>

#include "daemon/log_writer.h"
#include "settings/config.h"

namespace paravane::daemon {

// Sets the level below which log lines are dropped. `level`: a name that settings/ accepts. Any
// thread.
void set_log_level(const std::string& level);

class Logging {
 public:
  // All log lines of the process are written by this object until it is destroyed.
  explicit Logging(const settings::LogConfig& config);
  ~Logging();
  Logging(const Logging&) = delete;
  Logging& operator=(const Logging&) = delete;

  // Before another program takes this one's place. Waits for a reader that does not read, but not
  // for long.
  void flush() { writer_.flush(std::chrono::milliseconds(200)); }

 private:
  LogWriter writer_;
};

}  // namespace paravane::daemon
