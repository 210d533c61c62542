// ImpairmentManagement: the requests that an operator can make about impairments. A part of
// Management, with its rules about threads.

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

  // Instead of the one between the same two, if there is one; its count begins anew.
  // REQUIRES: check_impairment(). Errors: kNotFound (a VM), kLimitReached, kBusy.
  virtual ApiResult<ImpairmentStatus> set_impairment(const Impairment& impairment) = 0;
  // Those of one VM, or all. None is no error. Errors: kNotFound (that VM), kBusy.
  virtual ApiResult<void> clear_impairments(const std::optional<std::string>& vm) = 0;
  // In the order in which they were set first. Errors: kBusy.
  virtual ApiResult<std::vector<ImpairmentStatus>> list_impairments() = 0;
};

}  // namespace paravane::model
