// The acts of umad_door_fuzz, for it and its seeds. Programs and their MAD lines are named by small
// numbers; one that is not there is passed over.

#pragma once

#include <cstdint>

namespace paravane::fake {

inline constexpr unsigned kDoorPrograms = 4;
inline constexpr unsigned kDoorLines = 4;  // of a program

enum class UmadDoorAct : std::uint8_t {
  kConnect,   // program: another one in its place
  kQuestion,  // program, ask, adapter, port, line, agent, class, version, RMPP, method
  kOdd,       // program, length, bytes: any message on its control line
  kMad,       // program, line, agent, time, class, method, attribute, LID, hops, path
  kPart,      // program, line, agent, total, offset, length: any part of a MAD
  kOddMad,    // program, line, length, bytes: any message on a MAD line
  kRead,      // program: what has come for it
  kClose,     // program, line; 255: its control line
  kTime,      // hundredths of a second
  kAdapter,   // an adapter is added, or removed
  kCount,
};

}  // namespace paravane::fake
