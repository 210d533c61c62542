#include "api/vm_difference.h"

#include <nlohmann/json.hpp>
#include <set>

#include "api/vm_json.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

void compare(const std::string& name, const json& before, const json& after, Names& names) {
  if (before == after) return;
  if (before.is_object() && after.is_object()) {
    json all = before;
    all.update(after);
    for (const auto& [key, value] : all.items()) {
      compare(key, before.value(key, json()), after.value(key, json()), names);
    }
  } else if (name == "adapters" && before.size() == after.size()) {
    for (std::size_t i = 0; i < after.size(); ++i) compare(name, before[i], after[i], names);
  } else {
    names.insert(name);
  }
}

}  // namespace

std::vector<std::string> changed_properties(const model::VmSpec& before,
                                            const model::VmSpec& after) {
  Names names;
  compare("", to_json(before), to_json(after), names);
  return {names.begin(), names.end()};
}

}  // namespace paravane::api
