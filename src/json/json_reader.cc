#include "json/json_reader.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace paravane {

using nlohmann::json;

JsonReader::JsonReader(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) problem_ = fmt::format("{} must be a JSON object", where_);
}

const json* JsonReader::find(const char* key) {
  asked_.insert(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

void JsonReader::complain(const char* key, std::string_view problem) {
  if (problem_.empty()) problem_ = fmt::format("{}: \"{}\" {}", where_, key, problem);
}

std::optional<std::string> JsonReader::text(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get_ref<const std::string&>();
  complain(key, "must be a string");
  return std::nullopt;
}

std::optional<std::uint64_t> JsonReader::number(const char* key, std::uint64_t max) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  // No fractions, and no 1e3 either. Text without a sign is read as unsigned.
  const bool whole = value->is_number_unsigned() ||
                     (value->is_number_integer() && value->get<std::int64_t>() >= 0);
  if (!whole) {
    complain(key, "must be a whole number, 0 or more");
    return std::nullopt;
  }
  const auto number = value->get<std::uint64_t>();
  if (number <= max) return number;
  complain(key, fmt::format("must be at most {}", max));
  return std::nullopt;
}

std::optional<std::uint32_t> JsonReader::u32(const char* key) {
  const auto value = number(key, std::numeric_limits<std::uint32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<bool> JsonReader::boolean(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  complain(key, "must be true or false");
  return std::nullopt;
}

bool JsonReader::is_null(const char* key) {
  const json* value = find(key);
  return value != nullptr && value->is_null();
}

const json* JsonReader::object(const char* key) {
  const json* value = find(key);
  if (value == nullptr || value->is_object()) return value;
  complain(key, "must be an object");
  return nullptr;
}

const json* JsonReader::array(const char* key) {
  const json* value = find(key);
  if (value == nullptr || value->is_array()) return value;
  complain(key, "must be an array");
  return nullptr;
}

std::string JsonReader::need_text(const char* key) {
  const auto value = text(key);
  if (!value) complain(key, "is missing");
  return value.value_or("");
}

std::uint64_t JsonReader::need_number(const char* key, std::uint64_t max) {
  const auto value = number(key, max);
  if (!value) complain(key, "is missing");
  return value.value_or(0);
}

std::uint32_t JsonReader::need_u32(const char* key) {
  return static_cast<std::uint32_t>(need_number(key, std::numeric_limits<std::uint32_t>::max()));
}

Status JsonReader::finish() {
  if (problem_.empty() && object_.is_object()) {
    for (const auto& [key, value] : object_.items()) {
      if (asked_.contains(key)) continue;
      problem_ = fmt::format("{}: unknown key \"{}\"", where_, key);
      break;
    }
  }
  return finish_ignoring_unknown();
}

Status JsonReader::finish_ignoring_unknown() const {
  if (problem_.empty()) return {};
  return fail(Errc::kInvalidArgument, problem_);
}

}  // namespace paravane
