// HeirFacts is what a new engine says about itself before it takes over from the one that runs: the
// version of its program, and the formats that it reads and writes. The engine that runs decides by
// them whether the new one can take over.
//
// The text is untrusted.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::privsep {

// How keeper and heir speak with one another: the descriptors that the heir is started with, the
// notes of an upgrade, and the estate line. A program that does not know this number refuses to be
// an heir, so a release that changes any of these needs a restart.
inline constexpr std::uint32_t kHeirProtocol = 3;

// The descriptors that an heir is started with.
inline constexpr int kHeirLinkFd = 3;    // its ProcessLink
inline constexpr int kHeirEstateFd = 4;  // its side of the EstateLine
inline constexpr int kHeirConfigFd = 5;  // the text of the settings; closed: there is no file
inline constexpr int kHeirHolderFd = 6;  // its line to the holder; closed: there is no holder

struct HeirFacts {
  std::string version;             // of the program; without blanks
  std::uint32_t store_schema = 0;  // of the state directory (store/store.h)
  std::uint32_t state_format = 0;  // of saved adapters (state/image.h)

  friend bool operator==(const HeirFacts&, const HeirFacts&) = default;
};

// "VERSION SCHEMA FORMAT".
std::string print(const HeirFacts& facts);
// Errors: kInvalidArgument.
Result<HeirFacts> parse_heir_facts(std::string_view text);

}  // namespace paravane::privsep
