// stable_hash(): a number from a text, the same on every machine and in every version. What a host
// chooses for good by a name is derived from it: MAC addresses, GUIDs.
//
// FNV-1a. A pure function; any thread.

#pragma once

#include <cstdint>
#include <string_view>

namespace paravane::model {

// `attempt`: counts up when what was derived is taken.
constexpr std::uint64_t stable_hash(std::string_view text, unsigned attempt) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const char c : text) add(static_cast<std::uint8_t>(c));
  for (unsigned i = 0; i < attempt; ++i) add(0);
  return hash ^ (hash >> 32);
}

}  // namespace paravane::model
