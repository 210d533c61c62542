#include "base/news_log.h"

#include <fmt/core.h>

#include <utility>

#include "base/memory_shortage.h"

namespace paravane {

void NewsLog::write(log::Level level, Instant now, fmt::string_view text, fmt::format_args args) {
  runs_in_memory([&] {  // the line may report that memory has run out
    std::string line = fmt::vformat(text, args);
    if (line == said_ && now < said_at_ + kAgain) return;
    const auto kept_back = limit_.allow(now);
    if (!kept_back) return;
    const std::string whole = line + kept_back_note(*kept_back);
    log::write(level, "{}", fmt::make_format_args(whole));
    said_ = std::move(line);
    said_at_ = now;
  });
}

}  // namespace paravane
