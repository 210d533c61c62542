// The seed that makes the addresses chosen by this host differ from those of other hosts.

#pragma once

#include <string>

#include "model/api_error.h"
#include "store/store.h"

namespace paravane::host {

inline constexpr const char* kAddressSeedKind = "host";  // of documents in the store

// Random, chosen once and kept in the state directory. A VM that is added again under its name
// has the address that it had; a VM of that name on another host has another one.
// Errors: kStore, kNoSpace.
model::ApiResult<std::string> address_seed(store::Store& store);

}  // namespace paravane::host
