// NetworkChange describes a change of one document of a cluster's configuration, which holds a
// distributed switch or a port group.

#pragma once

#include <optional>
#include <string>

namespace paravane::host {

struct NetworkChange {
  std::string document;             // below config/
  std::optional<std::string> json;  // nullopt: the document is deleted
};

}  // namespace paravane::host
