// PortParcel is one adapter of a VM as it is handed to the engine that replaces this one: the saved
// state, and the descriptors that belong to it (the sockets of its VMM, the files of its guest's
// memory, its eventfds).
//
// The bytes of an adapter that this engine did not save itself are untrusted: a guest may have
// taken over the engine that did.

#pragma once

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"
#include "model/adapter_name.h"

namespace paravane::worker {

struct PortParcel {
  model::AdapterName adapter;
  std::vector<std::byte> state;
  std::vector<UniqueFd> descriptors;  // owned; the state names them by their place
};

}  // namespace paravane::worker
