#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <iterator>

#include "base/memory_shortage.h"

namespace paravane::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
    case Level::kError: break;
  }
  return spdlog::level::err;
}

}  // namespace

bool writes(Level level) {
  return spdlog::default_logger_raw()->should_log(level_of(level));
}

void write(Level level, fmt::string_view text, fmt::format_args args) {
  spdlog::logger& logger = *spdlog::default_logger_raw();
  if (!logger.should_log(level_of(level))) return;
  runs_in_memory([&] {
    fmt::memory_buffer line;  // allocates for a long line only
    fmt::vformat_to(std::back_inserter(line), text, args);
    logger.log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
  });
}

}  // namespace paravane::log
