// JSON as commands print it: the objects of the API (docs/api.md) with its names, one where one
// thing was asked for, and an array where several were. The commands of esxcli's namespaces
// keep esxcli's names (text/text_table.h).

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace paravane::cli {

// Indented, with a newline at its end. Never fails: bytes that are not UTF-8 are replaced.
std::string pretty_json(const nlohmann::json& value);

// What `to_json` makes of each, in an array.
template <typename T>
std::string json_array(const std::vector<T>& values, nlohmann::json (*to_json)(const T&)) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return pretty_json(array);
}

}  // namespace paravane::cli
