#include "cli/json_output.h"

#include <nlohmann/json.hpp>

namespace paravane::cli {

std::string pretty_json(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace paravane::cli
