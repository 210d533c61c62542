// ImpairmentManagement is the interface for the requests that an operator can make about
// impairments. It is a part of Management, with the same rules about threads (management.h).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/impairment.h"

namespace paravane::model {

class ImpairmentManagement {
 public:
  virtual ~ImpairmentManagement() = default;

  // Sets an impairment. It replaces the one between the same VM and peer, if any, and its counters
  // start at 0. REQUIRES: check_impairment(). Errors: kNotFound (a VM), kLimitReached, kBusy.
  virtual ApiResult<ImpairmentStatus> set_impairment(const Impairment& impairment) = 0;
  // Removes the impairments of one VM, or all. It is not an error if there are none. Errors:
  // kNotFound (the VM), kBusy.
  virtual ApiResult<void> clear_impairments(const std::optional<std::string>& vm) = 0;
  // In the order in which they were set first. Errors: kBusy.
  virtual ApiResult<std::vector<ImpairmentStatus>> list_impairments() = 0;
};

}  // namespace paravane::model
