// Reads and damages rows of a database without going through the store: no trigger or constraint
// of the file applies, as none applies to a failing disk.

#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <optional>
#include <string>

namespace paravane {

class DamagedRows {
 public:
  explicit DamagedRows(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  }
  ~DamagedRows() { sqlite3_close(db_); }
  DamagedRows(const DamagedRows&) = delete;
  DamagedRows& operator=(const DamagedRows&) = delete;

  // `column` of the row of that name; nullopt: there is none.
  std::optional<std::string> read(const std::string& table, const std::string& column,
                                  const std::string& name) {
    sqlite3_stmt* query = prepare("SELECT " + column + " FROM " + table + " WHERE name = ?1");
    bind(query, 1, name);
    std::optional<std::string> text;
    if (sqlite3_step(query) == SQLITE_ROW) {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(query, 0));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(query, 0));
      text = bytes == nullptr ? std::string() : std::string(bytes, size);
    }
    sqlite3_finalize(query);
    return text;
  }
  // nullopt: the row goes.
  void write(const std::string& table, const std::string& column, const std::string& name,
             const std::optional<std::string>& text) {
    sqlite3_stmt* change =
        prepare(text ? "UPDATE " + table + " SET " + column + " = ?2 WHERE name = ?1"
                     : "DELETE FROM " + table + " WHERE name = ?1");
    bind(change, 1, name);
    if (text) bind(change, 2, *text);
    EXPECT_EQ(sqlite3_step(change), SQLITE_DONE) << sqlite3_errmsg(db_);
    EXPECT_EQ(sqlite3_changes(db_), 1);
    sqlite3_finalize(change);
  }

 private:
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
    return statement;
  }
  static void bind(sqlite3_stmt* statement, int index, const std::string& text) {
    sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }

  sqlite3* db_ = nullptr;
};

}  // namespace paravane
