// How `paravane events` prints what happened.

#pragma once

#include <string>
#include <vector>

#include "api/event_log.h"
#include "text/text_table.h"

namespace paravane::cli {

// All of them: a table, an array of objects, or CSV with a header.
std::string print_events(const std::vector<model::Event>& events, text::TableFormat format);

// While more may come: lines for a reader, an object per line, or CSV without a header.
std::string print_event_lines(const std::vector<model::Event>& events, text::TableFormat format);

}  // namespace paravane::cli
