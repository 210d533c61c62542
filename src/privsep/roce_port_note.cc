#include "privsep/roce_port_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/vm.h"

namespace paravane::privsep {
namespace {

constexpr std::string_view kSuperframes = "superframes";
constexpr std::string_view kPackets = "packets";
constexpr std::uint32_t kMostMtu = 0xFFFF;

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// All of `word`.
bool take_number(std::string_view word, std::uint32_t& number) {
  const auto [rest, error] = std::from_chars(word.begin(), word.end(), number);
  return error == std::errc{} && rest == word.end();
}

}  // namespace

std::string print(const RocePortNote& note) {
  return fmt::format("{} {} {} {} {}", note.adapter.vm, note.adapter.number, note.making, note.mtu,
                     note.takes_superframes ? kSuperframes : kPackets);
}

Result<RocePortNote> parse_roce_port_note(std::string_view text) {
  const std::string_view vm = take_word(text);
  const std::string_view number = take_word(text);
  const std::string_view making = take_word(text);
  const std::string_view mtu = take_word(text);
  RocePortNote note{.adapter = {std::string(vm), 0}, .takes_superframes = text == kSuperframes};
  const bool is_good = model::check_name(vm) && take_number(number, note.adapter.number) &&
                       note.adapter.number >= 1 && note.adapter.number <= model::kMaxAdapters &&
                       take_number(making, note.making) && take_number(mtu, note.mtu) &&
                       note.mtu <= kMostMtu && (note.takes_superframes || text == kPackets);
  if (!is_good) return fail(Errc::kInvalidArgument, "not a RoCE port");
  return note;
}

}  // namespace paravane::privsep
