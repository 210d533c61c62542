// CaptureManagement: the requests that an operator can make about captures. A part of Management,
// with its rules about threads.

#pragma once

#include <cstdint>
#include <vector>

#include "model/api_error.h"
#include "model/capture.h"

namespace paravane::model {

class CaptureManagement {
 public:
  virtual ~CaptureManagement() = default;

  // Of all the adapters that the VM has now.
  // Errors: kNotFound (the VM), kExists (another of it), kLimitReached, kBusy.
  virtual ApiResult<CaptureStatus> start_capture(const CaptureSpec& spec) = 0;
  // Takes packets away; none is no error. Errors: kNotFound (it has ended).
  virtual ApiResult<CapturePackets> read_capture(std::uint64_t id) = 0;
  // How it was at its end. Errors: kNotFound, kBusy.
  virtual ApiResult<CaptureStatus> end_capture(std::uint64_t id) = 0;
  // In the order in which they were started.
  virtual ApiResult<std::vector<CaptureStatus>> list_captures() = 0;
};

}  // namespace paravane::model
