// Inheritance is what an engine leaves to the one that replaces it while VMs run, as the host of
// the new one takes it: the locks of its directories, the socket of the API, its adapters, and its
// InfiniBand subnet. It is sent as parcels (privsep/estate_line.h).
//
// The new engine does not trust what it gets. Names are checked here; each part checks its own.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/adapter_name.h"
#include "privsep/estate_line.h"

namespace paravane::host {

// The names of parcels. That of a lock has the setting of its directory.
inline constexpr std::string_view kApiParcel = "api";
// Since when no VM is served: nanoseconds of the steady clock, in digits.
inline constexpr std::string_view kFrozenParcel = "frozen";
// The InfiniBand subnet (subnet_host/subnet_parcel.h). Engines before 0.3.0 have none.
inline constexpr std::string_view kSubnetParcel = "subnet";
std::string lock_parcel(std::string_view setting);
std::string adapter_parcel(const model::AdapterName& adapter);

struct Inheritance {
  // Of an engine that was killed: it is what was kept of it, and whatever cannot be taken over is
  // left out.
  bool is_kept = false;
  // Its end is no VM's fault, whichever it served then.
  bool blames_nothing = false;
  std::int64_t frozen_at = 0;                          // of kFrozenParcel; 0: it was not said
  UniqueFd api;                                        // the listening socket
  std::map<std::string, UniqueFd, std::less<>> locks;  // by the names of their parcels
  std::map<std::string, privsep::Parcel> adapters;     // likewise
  std::optional<privsep::Parcel> subnet;
};

// Errors: kInvalidArgument (a parcel that no engine sends, or that is there twice).
Result<Inheritance> sort_estate(std::vector<privsep::Parcel> parcels);

}  // namespace paravane::host
