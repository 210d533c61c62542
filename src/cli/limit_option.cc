#include "cli/limit_option.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest_name.h"

namespace paravane::cli {
namespace {

std::string all_names() {
  std::string names;
  for (const model::LimitField& field : model::kLimitFields) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  }
  return names;
}

struct LimitWords {
  const model::LimitField* field;
  std::string value;  // empty: none was written
};

Result<LimitWords> split_limit(std::string_view option) {
  const std::size_t equals = option.find('=');
  for (const model::LimitField& field : model::kLimitFields) {
    if (field.name != option.substr(0, equals)) continue;
    return LimitWords{
        .field = &field,
        .value = std::string(equals == std::string_view::npos ? "" : option.substr(equals + 1))};
  }
  std::vector<std::string> names;
  names.reserve(model::kLimitFields.size());
  for (const model::LimitField& field : model::kLimitFields) names.emplace_back(field.name);
  const auto near = nearest_name(option.substr(0, equals), names);
  return fail(
      Errc::kInvalidArgument,
      fmt::format("--limit {}: there is no such limit; {} {}", option,
                  near ? "do you mean " + *near + "? There are" : "there are", all_names()));
}

std::optional<std::uint32_t> to_number(const std::string& digits) {
  std::uint32_t value = 0;
  const char* end = digits.c_str() + digits.size();
  const auto parsed = std::from_chars(digits.c_str(), end, value);
  if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

Status set_limit(std::string_view option, model::VmLimits& limits) {
  const Result<LimitWords> words = split_limit(option);
  if (!words) return std::unexpected(words.error());
  const model::LimitField& field = *words->field;
  const auto value = to_number(words->value);
  if (!value) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--limit {}: use {}=NUMBER with a NUMBER from {} to {}", option,
                            field.name, field.min, field.max));
  }
  if (limits.*field.member) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--limit {}: {} is specified twice", option, field.name));
  }
  limits.*field.member = value;
  return {};
}

Result<model::LimitChange> parse_limit(std::string_view option) {
  const Result<LimitWords> words = split_limit(option);
  if (!words) return std::unexpected(words.error());
  const model::LimitField& field = *words->field;
  if (words->value == "default") return model::LimitChange{.field = &field, .value = {}};
  const auto value = to_number(words->value);
  if (value) return model::LimitChange{.field = &field, .value = value};
  return fail(Errc::kInvalidArgument,
              fmt::format("--limit {}: use {}=NUMBER with a NUMBER from {} to {}, or {}=default",
                          option, field.name, field.min, field.max, field.name));
}

std::string limit_help() {
  return "Set a limit; may be repeated. Names: " + all_names();
}

}  // namespace paravane::cli
