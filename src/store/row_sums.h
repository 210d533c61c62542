// Row sums: a checksum of each row of the store, in a separate table. They tell a row that was
// damaged on disk from one that was changed, and a missing row from one that was removed.
//
// Triggers of the store's connection update the sum with each change of a row. Triggers in the
// file delete the sum first, so a row that an older program changed has no sum: it is accepted as
// it is, and gets its sum when this program opens the file again.
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
