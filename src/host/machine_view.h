// MachineView: what this host has, with its numbers, as the control thread knows it: asked
// of a looker at most once a second, numbers kept in the store.
//
// Control thread only; blocks for as long as the looker.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "control/api_error.h"
#include "control/machine.h"
#include "control/store.h"
#include "host/device_numbers.h"
#include "privsep/machine_looker.h"

namespace paravane::host {

class MachineView {
 public:
  static constexpr Duration kFresh = std::chrono::seconds(1);
  // A keeper that does not answer is not asked at each request.
  static constexpr Duration kAfterFailure = std::chrono::seconds(10);

  // `looker` null: nobody sees this host. Both outlive us; `now` is the time.
  MachineView(privsep::MachineLooker* looker, control::Store& store, std::function<Instant()> now);

  // Remembered numbers. Errors: kStore.
  control::ApiResult<void> load();

  // In the order of their numbers. Errors: kInternal.
  control::ApiResult<control::Machine> look();
  // Errors: kNotFound, kInternal.
  control::ApiResult<control::RdmaStats> stats(const std::string& name);

 private:
  void number(control::Machine& machine);
  void keep(const char* kind, const std::map<std::string, std::string>& names);
  control::ApiResult<DeviceNumbers> read_numbers(const char* kind, std::string_view prefix);

  privsep::MachineLooker* looker_;
  control::Store& store_;
  std::function<Instant()> now_;
  DeviceNumbers nics_;
  DeviceNumbers rdma_devices_;
  std::optional<control::Machine> seen_;
  Instant seen_at_{};
  std::optional<control::ApiError> failed_;  // the last look
  Instant failed_at_{};
};

}  // namespace paravane::host
