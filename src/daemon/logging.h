// Sets up logging to stderr, as text or as one JSON object per line, from a thread of its own.

#pragma once

#include <string>

#include "daemon/log_writer.h"
#include "settings/config.h"

namespace paravane::daemon {

// Of all lines of the process. `level`: one of settings/'s names. Any thread.
void set_log_level(const std::string& level);

class Logging {
 public:
  // All lines of the process go here while this lives.
  explicit Logging(const settings::LogConfig& config);
  ~Logging();
  Logging(const Logging&) = delete;
  Logging& operator=(const Logging&) = delete;

 private:
  LogWriter writer_;
};

}  // namespace paravane::daemon
