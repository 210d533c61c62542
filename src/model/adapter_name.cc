#include "model/adapter_name.h"

#include <fmt/core.h>

namespace paravane::model {

std::string to_string(const AdapterName& name) {
  return name.number <= 1 ? name.vm : fmt::format("{}/{}", name.vm, name.number);
}

}  // namespace paravane::model
