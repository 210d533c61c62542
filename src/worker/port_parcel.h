// PortParcel is one adapter of a VM as it is handed to the engine that replaces this one: the saved
// state, and the descriptors that belong to it (the sockets of its VMM, the files of its guest's
// memory, its eventfds).
//
// The bytes of an adapter that this engine did not save itself are untrusted: a guest may have
// taken over the engine that did.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "model/adapter_name.h"
#include "state/image.h"

namespace paravane::worker {

// The format of PortParcel::state. An engine reads that of its own release alone.
inline constexpr std::uint32_t kPortStateFormat = state::kFormat;

struct PortParcel {
  model::AdapterName adapter;
  std::vector<std::byte> state;
  std::vector<UniqueFd> descriptors;  // owned; the state names them by their place
  // It was kept of an engine that was killed, perhaps by what it did for this VM.
  bool may_be_blamed = true;
  // It was kept of an engine that was killed, and this adapter is not served again: its VMM is
  // disconnected.
  bool cut_off = false;
};

}  // namespace paravane::worker
