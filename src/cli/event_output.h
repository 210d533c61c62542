// How `paravane events` prints what happened.

#pragma once

#include <string>
#include <vector>

#include "control/event_log.h"
#include "control/text_table.h"

namespace paravane::cli {

// All of them: a table, an array of objects, or CSV with a header.
std::string print_events(const std::vector<control::Event>& events, control::TableFormat format);

// While more may come: lines for a reader, an object per line, or CSV without a header.
std::string print_event_lines(const std::vector<control::Event>& events,
                              control::TableFormat format);

}  // namespace paravane::cli
