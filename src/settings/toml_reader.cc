#include "settings/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/endpoint.h"

namespace paravane::settings {

const toml::node* TomlReader::find(const char* key) {
  asked_.insert(key);
  return table_ == nullptr ? nullptr : table_->get(key);
}

void TomlReader::complain(const toml::node& node, const char* key, std::string_view reason) {
  if (!problem_.text.empty()) return;
  problem_ = {.line = node.source().begin.line, .text = fmt::format("{}{} {}", path_, key, reason)};
}

void TomlReader::refuse(const char* key, std::string_view reason) {
  if (const toml::node* node = find(key)) complain(*node, key, reason);
}

TomlReader TomlReader::sub_table(const char* key) {
  const toml::node* node = find(key);
  if (node != nullptr && !node->is_table()) complain(*node, key, "must be a table");
  return {node == nullptr ? nullptr : node->as_table(), path_ + key + ".", problem_};
}

void TomlReader::text(const char* key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* string = node->as_string()) {
    value = string->get();
  } else {
    complain(*node, key, "must be a quoted string");
  }
}

void TomlReader::checked_text(const char* key, Status (*check)(std::string_view),
                              std::string& value) {
  text(key, value);
  const toml::node* node = find(key);
  if (node == nullptr || value.empty()) return;
  const Status good = check(value);
  if (!good) complain(*node, key, "is invalid: " + good.error().message);
}

void TomlReader::texts(const char* key, Status (*check)(std::string_view),
                       std::vector<std::string>& values) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return complain(*node, key, "must be an array of strings");
  values.clear();
  for (const toml::node& element : *array) {
    const auto* string = element.as_string();
    if (string == nullptr) return complain(element, key, "must be an array of strings");
    if (const Status good = check(string->get()); !good) {
      return complain(element, key,
                      fmt::format("holds \"{}\": {}", string->get(), good.error().message));
    }
    values.push_back(string->get());
  }
}

void TomlReader::file_path(const char* key, std::filesystem::path& value) {
  std::string as_text = value.string();
  text(key, as_text);
  value = as_text;
  const toml::node* node = find(key);
  if (node != nullptr && !value.is_absolute()) complain(*node, key, "must be an absolute path");
}

void TomlReader::ip_address(const char* key, std::string& value) {
  text(key, value);
  const toml::node* node = find(key);
  if (node == nullptr || value.empty()) return;
  const auto endpoint = Endpoint::of(value, 1);
  if (!endpoint || !endpoint->is_unicast()) {
    complain(*node, key, "must be an IPv4 or IPv6 address of this host");
  }
}

void TomlReader::number(const char* key, std::uint64_t min, std::uint64_t max,
                        std::uint64_t& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto* integer = node->as_integer();
  if (integer == nullptr) {
    complain(*node, key, "must be a whole number");
    return;
  }
  const std::int64_t given = integer->get();
  if (given < 0 || static_cast<std::uint64_t>(given) < min ||
      static_cast<std::uint64_t>(given) > max) {
    complain(*node, key, fmt::format("is {}, but must be {} to {}", given, min, max));
    return;
  }
  value = static_cast<std::uint64_t>(given);
}

void TomlReader::microseconds(const char* key, std::uint64_t max, Duration& value) {
  auto count = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(value).count());
  number(key, 0, max, count);
  value = std::chrono::microseconds(count);
}

void TomlReader::file_mode(const char* key, mode_t& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  std::string digits;
  text(key, digits);
  mode_t mode = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, mode, 8);
  if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != end || mode > 0777) {
    complain(*node, key, "must be an octal mode, such as \"0660\"");
    return;
  }
  value = mode;
}

void TomlReader::word(const char* key, std::initializer_list<std::string_view> words,
                      std::size_t& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  std::string given;
  text(key, given);
  const auto* found = std::ranges::find(words, given);
  if (found == words.end()) {
    complain(*node, key, fmt::format("is \"{}\", but must be {}", given, fmt::join(words, ", ")));
    return;
  }
  value = static_cast<std::size_t>(found - words.begin());
}

void TomlReader::finish() {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : *table_) {
    if (!asked_.contains(key.str())) {
      complain(node, std::string(key.str()).c_str(), "is not a known setting");
    }
  }
}

}  // namespace paravane::settings
