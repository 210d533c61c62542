// NetworkChange: a change of one document of a cluster's switches and port groups.

#pragma once

#include <optional>
#include <string>

namespace paravane::host {

struct NetworkChange {
  std::string document;             // below config/
  std::optional<std::string> json;  // nullopt: it goes
};

}  // namespace paravane::host
