// What is saved of counters: their names and values. A counter that the reader does not know is
// passed by, and one that the state does not have begins at 0.
//
// One thread.

#pragma once

#include "base/counter.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::state {

void save(const CounterSet& counters, Writer& out);
void load(CounterSet& counters, Reader& in);

}  // namespace paravane::state
