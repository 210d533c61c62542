// MachineView gives the control thread the hardware inventory of this host, with the device numbers
// ("vmnic0"), which it keeps in the store. It reads the inventory from a MachineLooker, at most
// once a second.
//
// Control thread only. Calls block while the MachineLooker reads.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "model/api_error.h"
#include "model/machine.h"
#include "privsep/machine_looker.h"
#include "store/device_numbers.h"
#include "store/store.h"

namespace paravane::host {

// The kinds of the documents in the store that hold the numbers.
inline constexpr const char* kNicNumberKind = "vmnic";
inline constexpr const char* kRdmaNumberKind = "vmrdma";

class MachineView {
 public:
  static constexpr Duration kFresh = std::chrono::seconds(1);
  // The time without further attempts after the keeper did not answer.
  static constexpr Duration kAfterFailure = std::chrono::seconds(10);

  // `looker` null: the hardware is not read. Both outlive us; `now` is the time.
  MachineView(privsep::MachineLooker* looker, store::Store& store, std::function<Instant()> now);

  // Reads the stored numbers. Errors: kStore.
  model::ApiResult<void> load();

  // The numbers that NICs of this host have or had. New ones get none of an IPoIB uplink's.
  std::set<unsigned> nic_numbers() const { return nics_.given(); }

  // In the order of their numbers. Errors: kInternal.
  model::ApiResult<model::Machine> look();
  // `nic`: either of its names. Errors: kNotFound, kInternal.
  model::ApiResult<model::NicDcb> dcb(const std::string& nic);
  // Errors: kNotFound, kInternal.
  model::ApiResult<model::RdmaStats> stats(const std::string& name);

 private:
  void number(model::Machine& machine);
  void keep(const char* kind, const std::map<std::string, std::string>& names);
  model::ApiResult<store::DeviceNumbers> read_numbers(const char* kind, std::string_view prefix,
                                                      store::DeviceRange range);

  privsep::MachineLooker* looker_;
  store::Store& store_;
  std::function<Instant()> now_;
  store::DeviceNumbers nics_;
  store::DeviceNumbers rdma_devices_;
  std::optional<model::Machine> seen_;
  Instant seen_at_{};
  std::optional<model::ApiError> failed_;  // the last look
  Instant failed_at_{};
};

}  // namespace paravane::host
