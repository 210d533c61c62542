// PortKeeper keeps what another engine needs to go on with the VMs' adapters if this one is killed.
//
// Worker thread only.

#pragma once

#include <cstddef>
#include <span>

#include "model/adapter_name.h"

namespace paravane::worker {

class PortKeeper {
 public:
  virtual ~PortKeeper() = default;
  // Takes the place of what was kept of this adapter before. The descriptors are borrowed. A
  // failure is told by the keeper; the adapter goes on, and is lost to its VM if the engine is
  // killed.
  virtual void keep(const model::AdapterName& adapter, std::span<const std::byte> state,
                    std::span<const int> descriptors) = 0;
  virtual void drop(const model::AdapterName& adapter) = 0;
};

}  // namespace paravane::worker
