// What commands about driver modules do, under whichever of their names they were typed.

#pragma once

#include <string>

#include "cli/context.h"
#include "model/ib_module_status.h"

namespace paravane::cli {

// Errors: kNotFound, with the name that was probably meant.
model::ApiResult<model::IbModuleStatus> find_ib_module_status(api::ApiClient& client,
                                                              const std::string& name);

// Each prints what it did or failed to do.
ExitStatus list_ib_modules(const Context& context);
ExitStatus get_ib_module(const std::string& name, const Context& context);
ExitStatus change_ib_module(const std::string& name, const model::IbModuleChange& change,
                            const Context& context);
ExitStatus show_ib_status(const Context& context);
ExitStatus restart_infiniband(const Context& context);

}  // namespace paravane::cli
