// HeirFacts is what a new engine says about itself before it takes over from the one that runs: the
// version of its program, and the formats that it reads and writes. The engine that runs decides by
// them whether the new one can take over, and the keeper whether it can become the same program.
//
// The text is untrusted.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::privsep {

// How keeper and heir speak with one another: the descriptors that the heir is started with, the
// notes of an upgrade, and the estate line; and how both speak with the holder, which stays the
// program that it was. A program that does not know this number refuses to be an heir, so a release
// that changes any of these needs a restart.
inline constexpr std::uint32_t kHeirProtocol = 4;

// The descriptors that an heir is started with.
inline constexpr int kHeirLinkFd = 3;    // its ProcessLink
inline constexpr int kHeirEstateFd = 4;  // its side of the EstateLine
inline constexpr int kHeirConfigFd = 5;  // the text of the settings; closed: there is no file
inline constexpr int kHeirHolderFd = 6;  // its line to the holder; closed: there is no holder

// An upgrade whose time was up: what the keeper's kResume says then, before the time.
inline constexpr std::string_view kOutOfTime = "the engines were not done after";

// The form of what one keeper leaves to the next (keeper/keeper_record.h).
inline constexpr std::uint32_t kKeeperRecord = 1;

struct HeirFacts {
  std::string version;             // of the program; without blanks
  std::uint32_t store_schema = 0;  // of the state directory (store/store.h)
  std::uint32_t state_format = 0;  // of saved adapters (state/image.h)
  std::uint32_t keeper_record = 0;

  friend bool operator==(const HeirFacts&, const HeirFacts&) = default;
};

// "VERSION SCHEMA FORMAT RECORD".
std::string print(const HeirFacts& facts);
// Errors: kInvalidArgument.
Result<HeirFacts> parse_heir_facts(std::string_view text);

}  // namespace paravane::privsep
