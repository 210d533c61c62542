// Row sums are checksums of the rows of the store, kept in a separate table. They show whether a
// row was damaged on disk or changed on purpose, and whether a missing row was removed or lost.
//
// When this program changes a row, triggers of its database connection update the sum of the row.
// An older version of this program does not have these triggers. Triggers in the file therefore
// delete the sum of a row that an older version changes. A row without a sum is accepted, and gets
// a sum when this program opens the file again.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;

namespace paravane::store {

// The 64-bit FNV-1a hash as 16 hex digits. Texts that differ in one byte always have different
// sums.
std::string text_sum(std::string_view text);

// Where sums are prepared: in the file and for this connection, or for this connection alone, which
// changes nothing in the file.
enum class RowSumsIn : std::uint8_t { kFile, kConnection };

// Creates the table, the triggers and the missing sums. REQUIRES: the tables have the newest
// schema; for kConnection, another program has prepared the file. False: SQLite's error says why.
bool prepare_row_sums(sqlite3* db, RowSumsIn where);

}  // namespace paravane::store
