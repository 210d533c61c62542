#include "store/row_sums.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>

#include "base/memory_shortage.h"

namespace paravane::store {
namespace {

// No part of the schema's version: a program that knows nothing of sums keeps them true.
constexpr const char* kMakeTable =
    "CREATE TABLE IF NOT EXISTS row_sum(kind TEXT NOT NULL, name TEXT NOT NULL,"
    "                                   sum TEXT NOT NULL, PRIMARY KEY(kind, name)) WITHOUT ROWID;";

struct Table {
  const char* name;
  const char* kind;  // SQL, of one of its rows: {0} is that row
  const char* text;
};
constexpr std::array kTables = {Table{"vm", "'vm'", "spec"}, Table{"vds", "'vds'", "spec"},
                                Table{"port_group", "'port_group'", "spec"},
                                Table{"document", "'document/' || {0}.kind", "json"}};

std::string in(const Table& table, const char* row) {
  return fmt::format(fmt::runtime(table.kind), row);
}

// Triggers that run before a change, whatever program makes it.
std::string in_the_file(const Table& table) {
  std::string sql;
  const auto add = [&](const char* when, const char* row) {
    sql += fmt::format(
        "CREATE TRIGGER IF NOT EXISTS {0}_{1}_{3} BEFORE {1} ON {0} BEGIN"
        " DELETE FROM row_sum WHERE kind = {2} AND name = {3}.name; END;",
        table.name, when, in(table, row), row);
  };
  add("INSERT", "NEW");
  add("UPDATE", "OLD");
  add("UPDATE", "NEW");
  add("DELETE", "OLD");
  return sql;
}

// After a change by us.
std::string in_the_connection(const Table& table) {
  std::string sql;
  for (const char* when : {"INSERT", "UPDATE"}) {
    sql += fmt::format(
        "CREATE TEMP TRIGGER {0}_{1}_sum AFTER {1} ON main.{0} BEGIN"
        " INSERT OR REPLACE INTO row_sum VALUES({2}, NEW.name, text_sum(NEW.{3})); END;",
        table.name, when, in(table, "NEW"), table.text);
  }
  return sql;
}

std::string missing_sums(const Table& table) {
  return fmt::format("INSERT OR IGNORE INTO row_sum SELECT {1}, name, text_sum({2}) FROM {0};",
                     table.name, in(table, table.name), table.text);
}

void text_sum_of(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[0]));
  const bool had_memory = runs_in_memory([&] {  // nothing may be thrown through SQLite
    const std::string sum = text_sum({text == nullptr ? "" : text, text == nullptr ? 0 : size});
    sqlite3_result_text(context, sum.c_str(), static_cast<int>(sum.size()), SQLITE_TRANSIENT);
  });
  if (!had_memory) sqlite3_result_error_nomem(context);
}

}  // namespace

std::string text_sum(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100'0000'01b3;
  }
  return fmt::format("{:016x}", hash);
}

bool prepare_row_sums(sqlite3* db, RowSumsIn where) {
  const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  if (sqlite3_create_function(db, "text_sum", 1, flags, nullptr, text_sum_of, nullptr, nullptr) !=
      SQLITE_OK) {
    return false;
  }
  std::string sql;
  if (where == RowSumsIn::kFile) {
    sql = fmt::format("BEGIN IMMEDIATE; {}", kMakeTable);
    for (const Table& table : kTables) sql += in_the_file(table) + missing_sums(table);
  }
  for (const Table& table : kTables) sql += in_the_connection(table);
  if (where == RowSumsIn::kFile) sql += "COMMIT;";
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

}  // namespace paravane::store
