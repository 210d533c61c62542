#include "privsep/uplink_note.h"

#include <fmt/core.h>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "privsep/note_words.h"

namespace paravane::privsep {
namespace {

constexpr std::string_view kTagged = "tagged";
constexpr std::string_view kGuests = "guests";

}  // namespace

std::string print(const UplinkNote& note) {
  const bool is_of_guests = note.vlan == model::kGuestVlans;
  const std::string vlan =
      note.tagged ? std::string(is_of_guests ? kGuests : kTagged) : std::to_string(note.vlan);
  return fmt::format("{} {} {} {}", note.uplink, vlan, note.making, note.mtu);
}

Result<UplinkNote> parse_uplink_note(std::string_view text) {
  UplinkNote note{.uplink = std::string(take_word(text))};
  const std::string_view vlan = take_word(text);
  const std::string_view making = take_word(text);
  note.tagged = vlan == kTagged || vlan == kGuests;
  const bool has_vlan =
      note.tagged || (read_number(vlan, note.vlan) && note.vlan <= model::kMaxVlan);
  if (vlan == kGuests) note.vlan = model::kGuestVlans;
  const bool is_good = model::is_ipoib_uplink_name(note.uplink) && has_vlan &&
                       read_number(making, note.making) && read_number(text, note.mtu) &&
                       model::check_mtu(note.mtu);
  if (!is_good) return fail(Errc::kInvalidArgument, "not a tap of an IPoIB uplink");
  return note;
}

}  // namespace paravane::privsep
