// Chooses the adapter and port that a program means when it names none, by the rules of rdma-core's
// libibumad. Any thread.

#pragma once

#include <optional>
#include <string>

#include "umad_library/door.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

inline constexpr unsigned kActive = 4;    // umad_port_t::state
inline constexpr unsigned kDisabled = 3;  // umad_port_t::phys_state
inline constexpr unsigned kLinkUp = 5;

// Its subnet manager's agent is turned off: SMPs do not pass.
bool is_smi_disabled(const umad_port_t& port);

enum class Need { kAnyPort, kSmi };  // kSmi: a port whose SMPs pass

// The name of the adapter, and into `port` its port. A name with a port is taken as it is; whether
// there is such a one shows when it is used. With `port` nullptr only the adapter is chosen.
//
// Without a port: the first that is active; or the first with a link; or the first that is not
// disabled. Without a name: the first adapter with an active port; or the first with any that
// will do. nullopt: no port fits.
std::optional<std::string> resolve(Door& door, const char* name, int* port,
                                   Need need = Need::kAnyPort);

}  // namespace paravane::umad_library
