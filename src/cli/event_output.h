// Prints events for `paravane events`, either all at once or line by line while the command waits
// for more.

#pragma once

#include <string>
#include <vector>

#include "api/event_log.h"
#include "text/text_table.h"

namespace paravane::cli {

// Prints a complete list of events as a table, as a JSON array of objects, or as CSV with a header.
std::string print_events(const std::vector<model::Event>& events, text::TableFormat format);

// Prints events while more may follow, as lines of text, as one JSON object per line, or as CSV
// without a header.
std::string print_event_lines(const std::vector<model::Event>& events, text::TableFormat format);

}  // namespace paravane::cli
