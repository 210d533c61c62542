// Prints the results of commands as JSON. The objects and their names are those of the API
// (docs/api.md). A command about one object prints that object, and a command that lists objects
// prints an array.
//
// Commands in the namespaces of esxcli use the names of esxcli instead (text/text_table.h).

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace paravane::cli {

// Returns indented JSON that ends with a newline. Never fails; bytes that are not UTF-8 are
// replaced.
std::string pretty_json(const nlohmann::json& value);

// Returns an array of all `values`, each converted by `to_json`.
template <typename T>
std::string json_array(const std::vector<T>& values, nlohmann::json (*to_json)(const T&)) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return pretty_json(array);
}

}  // namespace paravane::cli
