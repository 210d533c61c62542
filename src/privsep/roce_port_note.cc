#include "privsep/roce_port_note.h"

#include <fmt/format.h>

#include "model/storage.h"
#include "model/vm.h"
#include "privsep/note_words.h"

namespace paravane::privsep {
namespace {

constexpr std::string_view kSuperframes = "superframes";
constexpr std::string_view kPackets = "packets";
constexpr std::uint32_t kMostMtu = 0xFFFF;

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
  const bool is_good = model::check_name(vm) && read_number(number, note.adapter.number) &&
                       note.adapter.number <= model::kMaxAdapters &&
                       (note.adapter.number >= 1 || model::check_vmhba_name(vm)) &&
                       read_number(making, note.making) && read_number(mtu, note.mtu) &&
                       note.mtu <= kMostMtu && (note.takes_superframes || text == kPackets);
  if (!is_good) return fail(Errc::kInvalidArgument, "not a RoCE port");
  return note;
}

}  // namespace paravane::privsep
