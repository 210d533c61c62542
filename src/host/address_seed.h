// address_seed() returns a random seed that each host chooses once and keeps in its store. The MAC
// addresses that the host chooses are derived from it, so different hosts choose different
// addresses.

#pragma once

#include <string>

#include "model/api_error.h"
#include "store/store.h"

namespace paravane::host {

inline constexpr const char* kAddressSeedKind = "host";  // of documents in the store

// Returns the seed, after choosing it if the store does not have one. A VM that is removed and
// added again under the same name gets the same MAC address; a VM with that name on another host
// gets a different one. Errors: kStore, kNoSpace.
model::ApiResult<std::string> address_seed(store::Store& store);

}  // namespace paravane::host
