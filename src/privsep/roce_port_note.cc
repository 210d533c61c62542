#include "privsep/roce_port_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/vm.h"

namespace paravane::privsep {
namespace {

constexpr std::string_view kSuperframes = "superframes";
constexpr std::string_view kPackets = "packets";

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::string print(const RocePortNote& note) {
  return fmt::format("{} {} {}", note.adapter.vm, note.adapter.number,
                     note.takes_superframes ? kSuperframes : kPackets);
}

Result<RocePortNote> parse_roce_port_note(std::string_view text) {
  const std::string_view vm = take_word(text);
  const std::string_view number = take_word(text);
  RocePortNote note{.adapter = {std::string(vm), 0}, .takes_superframes = text == kSuperframes};
  const char* const start = number.data();
  const auto [rest, error] = std::from_chars(start, start + number.size(), note.adapter.number);
  const bool is_good = model::check_name(vm) && error == std::errc{} &&
                       rest == start + number.size() && note.adapter.number >= 1 &&
                       note.adapter.number <= model::kMaxAdapters &&
                       (note.takes_superframes || text == kPackets);
  if (!is_good) return fail(Errc::kInvalidArgument, "not a RoCE port");
  return note;
}

}  // namespace paravane::privsep
