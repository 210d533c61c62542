#include "privsep/heir_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace paravane::privsep {
namespace {

constexpr std::size_t kMaxVersion = 64;

// The word up to the next blank, which is taken off the text.
std::string_view take_fact(std::string_view& text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, blank);
  text.remove_prefix(std::min(blank + 1, text.size()));
  return word;
}

bool read_number(std::string_view word, std::uint32_t& number) {
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  return error == std::errc() && end == last && !word.empty();
}

}  // namespace

std::string print(const HeirFacts& facts) {
  return fmt::format("{} {} {} {}", facts.version, facts.store_schema, facts.state_format,
                     facts.keeper_record);
}

Result<HeirFacts> parse_heir_facts(std::string_view text) {
  HeirFacts facts{.version = std::string(take_fact(text))};
  const bool good = !facts.version.empty() && facts.version.size() <= kMaxVersion &&
                    read_number(take_fact(text), facts.store_schema) &&
                    read_number(take_fact(text), facts.state_format) &&
                    read_number(take_fact(text), facts.keeper_record) && text.empty();
  if (good) return facts;
  return fail(Errc::kInvalidArgument, "the new program did not say what it is");
}

}  // namespace paravane::privsep
