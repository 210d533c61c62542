// CaptureManagement is the interface for the requests that an operator can make about captures. It
// is a part of Management, with the same rules about threads (management.h).

#pragma once

#include <cstdint>
#include <vector>

#include "model/api_error.h"
#include "model/capture.h"

namespace paravane::model {

class CaptureManagement {
 public:
  virtual ~CaptureManagement() = default;

  // Captures the traffic of all adapters that the VM has now, or of the uplink's port. Errors:
  // kNotFound (the VM or the uplink), kExists (it is already being captured), kLimitReached, kBusy.
  virtual ApiResult<CaptureStatus> start_capture(const CaptureSpec& spec) = 0;
  // Returns the new packets and removes them from the capture; the list may be empty. Errors:
  // kNotFound (the capture has ended).
  virtual ApiResult<CapturePackets> read_capture(std::uint64_t id) = 0;
  // Ends the capture and returns its final state. Errors: kNotFound, kBusy.
  virtual ApiResult<CaptureStatus> end_capture(std::uint64_t id) = 0;
  // In the order in which they were started.
  virtual ApiResult<std::vector<CaptureStatus>> list_captures() = 0;
};

}  // namespace paravane::model
