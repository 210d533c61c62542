#include "cli/limit_option.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace paravane::cli {
namespace {

std::string all_names() {
  std::string names;
  for (const control::LimitField& field : control::kLimitFields) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  }
  return names;
}

}  // namespace

Status set_limit(std::string_view option, control::VmLimits& limits) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  for (const control::LimitField& field : control::kLimitFields) {
    if (field.name != name) continue;
    const std::string digits(equals == std::string_view::npos ? "" : option.substr(equals + 1));
    std::uint32_t value = 0;
    const char* end = digits.c_str() + digits.size();
    const auto parsed = std::from_chars(digits.c_str(), end, value);
    if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != end) {
      return fail(Errc::kInvalidArgument, fmt::format("--limit {}: write {}=NUMBER, {} to {}",
                                                      option, field.name, field.min, field.max));
    }
    if (limits.*field.member) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("--limit {}: {} is limited twice", option, field.name));
    }
    limits.*field.member = value;
    return {};
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("--limit {}: there is no such limit; there are {}", option, all_names()));
}

std::string limit_help() {
  return "At most that many; may be repeated. Names: " + all_names();
}

}  // namespace paravane::cli
