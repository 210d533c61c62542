// MachineLooker is the interface for reading the hardware inventory of this host. The keeper, the
// privileged process, reads it directly. The engine, the unprivileged process, uses an
// implementation that requests it from the keeper (machine_line.h).
//
// Calls block for a bounded time.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/machine.h"
#include "model/nic_dcb.h"

namespace paravane::privsep {

class MachineLooker {
 public:
  virtual ~MachineLooker() = default;

  // Returns the devices without numbers (`name` and `paired_uplink` are empty), in the order in
  // which numbers should be assigned. Errors: kIo.
  virtual Result<model::Machine> look() = 0;
  // `nic` is Linux's name. In the result, `name` is empty. Errors: kIo.
  virtual Result<model::NicDcb> read_dcb(const std::string& nic) = 0;
  // `device` is Linux's name. In the result, `name` is empty. Errors: kNotFound, kIo.
  virtual Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) = 0;
};

}  // namespace paravane::privsep
