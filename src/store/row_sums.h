// Row sums are checksums of the rows of the store, kept in a separate table. They show whether a
// row was damaged on disk or changed on purpose, and whether a missing row was removed or lost.
//
// Triggers of this program's connection update the sum whenever a row changes. Triggers in the file
// delete the sum first, so a row that an older program changed has no sum. Such a row is accepted,
// and gets a sum when this program opens the file again.
//
// Owner thread only.

#pragma once

#include <string>
#include <string_view>

struct sqlite3;

namespace paravane::store {

// The 64-bit FNV-1a hash as 16 hex digits. Texts that differ in one byte always have different
// sums.
std::string text_sum(std::string_view text);

// Creates the table, the triggers and the missing sums. REQUIRES: the tables have the newest
// schema. False: SQLite's error says why.
bool prepare_row_sums(sqlite3* db);

}  // namespace paravane::store
