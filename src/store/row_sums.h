// Row sums: of each row that the store keeps, a sum in a table of its own, so that a row which
// was damaged on the disk is known from one that was changed, and one that is gone from one
// that was removed.
//
// Each change of a row keeps its sum, by triggers of our connection. Triggers in the file take
// the sum away before, so that a row which an older program has changed is one without a sum:
// it counts as it is, and gets its sum when the file is opened here again.
//
// Owner thread only.

#pragma once

#include <string>
#include <string_view>

struct sqlite3;

namespace paravane::store {

// FNV-1a, 64 bits, 16 hex digits: of two texts that differ in one byte always another one.
std::string text_sum(std::string_view text);

// Makes the table and the triggers, and the sums that are missing. REQUIRES: the tables of the
// newest schema. False: SQLite's error says why.
bool prepare_row_sums(sqlite3* db);

}  // namespace paravane::store
