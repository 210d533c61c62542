// MachineLooker: the interface for reading the hardware inventory of this host. Implemented by the
// keeper and, in the engine, by the line to the keeper.
//
// Blocks for a bounded time.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/machine.h"

namespace paravane::privsep {

class MachineLooker {
 public:
  virtual ~MachineLooker() = default;

  // Devices have no numbers yet (no `name`, no `paired_uplink`), and stand in the order
  // in which they get them. Errors: kIo.
  virtual Result<model::Machine> look() = 0;
  // By Linux's name. Without `name`. Errors: kNotFound, kIo.
  virtual Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) = 0;
};

}  // namespace paravane::privsep
