// TomlReader reads one table of a configuration file into variables, and detects every deviation
// from the expected form.
//
// Read each key once, with the variable to fill, then call finish(). The first problem in the file
// is recorded with its line. A key that was never read is also a problem.

#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/result.h"

namespace paravane::settings {

class TomlReader {
 public:
  // The first problem of a whole file, shared by the readers of its tables.
  struct Problem {
    std::uint32_t line = 0;
    std::string text;  // empty: none
  };

  // `table` null: every key keeps its default. `path` is "" or "api." and such.
  TomlReader(const toml::table* table, std::string path, Problem& problem)
      : table_(table), path_(std::move(path)), problem_(problem) {}

  TomlReader sub_table(const char* key);

  void text(const char* key, std::string& value);
  // The text must be empty or pass `check`.
  void checked_text(const char* key, Status (*check)(std::string_view), std::string& value);
  // An array of such texts.
  void texts(const char* key, Status (*check)(std::string_view), std::vector<std::string>& values);
  void file_path(const char* key, std::filesystem::path& value);  // absolute
  // The address of one host, or "".
  void ip_address(const char* key, std::string& value);
  void number(const char* key, std::uint64_t min, std::uint64_t max, std::uint64_t& value);
  template <typename T>
  void number(const char* key, std::uint64_t min, std::uint64_t max, T& value) {
    std::uint64_t wide = static_cast<std::uint64_t>(value);
    number(key, min, max, wide);
    value = static_cast<T>(wide);
  }
  void microseconds(const char* key, std::uint64_t max, Duration& value);
  // An octal text such as "0660".
  void file_mode(const char* key, mode_t& value);
  // One of `words`; `value` becomes its place in the list.
  void word(const char* key, std::initializer_list<std::string_view> words, std::size_t& value);
  // The value of a key that is there breaks a rule; `reason` follows the key's name.
  void refuse(const char* key, std::string_view reason);
  bool has(const char* key) const { return table_ != nullptr && table_->contains(key); }

  // Call it after all keys were read.
  void finish();

 private:
  const toml::node* find(const char* key);
  void complain(const toml::node& node, const char* key, std::string_view reason);

  const toml::table* table_;
  std::string path_;
  Problem& problem_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace paravane::settings
