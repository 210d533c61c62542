// HolderWord is what the keeper says to the holder (holder/holder.h): what it is to do, and the
// line that it needs for that.
//
// One thread. Calls do not block.

#pragma once

#include <optional>

#include "base/unique_fd.h"

namespace paravane::privsep {

struct HolderWord {
  enum class What : char {
    kNothing = 0,
    kHear = 'e',  // the line of an engine that puts parcels from now on
    kGive = 'g',  // an estate line, over which everything is given, once
  };
  What what = What::kNothing;
  UniqueFd line{};
};

// False: the holder has ended. `line` stays the caller's.
bool say_to_holder(int holder, HolderWord::What what, int line);
// kNothing: no word has arrived, or one without a line. nullopt: the keeper has ended.
std::optional<HolderWord> hear_keeper(int keeper);

}  // namespace paravane::privsep
