#include "cli/parser_words.h"

#include <fmt/core.h>

#include <array>

namespace paravane::cli {
namespace {

// "A<between>B" as "A<ours>B<after>".
struct Phrase {
  std::string_view error;
  std::string_view between;
  std::string_view ours;
  std::string_view after;
};

constexpr std::array kPhrases = {
    Phrase{"ExcludesError", " excludes ", " cannot be used with ", ""},
    Phrase{"RequiresError", " requires ", " needs ", " too"},
};

// "--count: Value 0 not in range 1 to 9", "--format: x not in {a,b}"
std::string wrong_value(const std::string& problem) {
  constexpr std::string_view kRange = " not in range ";
  constexpr std::string_view kSet = " not in {";
  constexpr std::string_view kValue = "Value ";
  const std::size_t colon = problem.find(": ");
  if (colon == std::string::npos) return problem;
  const std::string_view option = std::string_view(problem).substr(0, colon);
  const std::string_view rest = std::string_view(problem).substr(colon + 2);
  if (const std::size_t at = rest.find(kRange); at != std::string_view::npos) {
    std::string_view value = rest.substr(0, at);
    if (value.starts_with(kValue)) value.remove_prefix(kValue.size());
    return fmt::format("{} {}: must be {}", option, value, rest.substr(at + kRange.size()));
  }
  const std::size_t at = rest.find(kSet);
  if (at == std::string_view::npos || !rest.ends_with('}')) return problem;
  std::string choices;
  for (const char c : rest.substr(at + kSet.size(), rest.size() - at - kSet.size() - 1)) {
    choices += c == ',' ? std::string(", ") : std::string(1, c);
  }
  return fmt::format("{} {}: must be one of {}", option, rest.substr(0, at), choices);
}

}  // namespace

std::string in_our_words(std::string_view error, const std::string& problem) {
  if (error == "ValidationError") return wrong_value(problem);
  if (error == "ArgumentMismatch") {
    const std::size_t colon = problem.find(": ");
    return colon == std::string::npos ? problem : problem.substr(0, colon) + " needs a value";
  }
  for (const Phrase& phrase : kPhrases) {
    const std::size_t at = problem.find(phrase.between);
    if (error != phrase.error || at == std::string::npos) continue;
    return fmt::format("{}{}{}{}", problem.substr(0, at), phrase.ours,
                       problem.substr(at + phrase.between.size()), phrase.after);
  }
  return problem;
}

}  // namespace paravane::cli
