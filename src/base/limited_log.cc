#include "base/limited_log.h"

#include <fmt/core.h>

#include "base/memory_shortage.h"

namespace paravane {

void LimitedLog::write(log::Level level, Instant now, fmt::string_view text,
                       fmt::format_args args) {
  const auto kept_back = limit_.allow(now);
  if (!kept_back) return;
  runs_in_memory([&] {  // the line may report that memory has run out
    const std::string line = fmt::vformat(text, args) + kept_back_note(*kept_back);
    log::write(level, "{}", fmt::make_format_args(line));
  });
}

}  // namespace paravane
