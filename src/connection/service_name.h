// Texts of device management: what a unit says of itself, and SRP's names of services (SRP r16a,
// table B.8). They come from a stranger. Pure functions; any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paravane::connection {

// The text of a field, which ends with a zero or fills it all, as it is.
std::string_view text_of_field(std::span<const char> field);

// That for people: what is not printable ASCII becomes a question mark; spaces at both ends are
// left out.
std::string printable_text(std::span<const char> field);

// Whether a name begins as those of SRP do. One with an ID extension is printable as it is.
bool is_srp_name(std::string_view name);

// The ID extension of such a name: exactly 16 hexadecimal digits after the beginning, and nothing
// more. nullopt: the name has none.
std::optional<std::uint64_t> id_extension_of(std::string_view name);

}  // namespace paravane::connection
