// JSON as commands print it: the objects of the API (docs/api.md) with its names, one where one
// thing was asked for, and an array where several were. The commands of esxcli's namespaces
// keep esxcli's names (text/text_table.h).

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace paravane::cli {

// Indented, with a newline at its end. Never fails: bytes that are not UTF-8 are replaced.
std::string pretty_json(const nlohmann::json& value);

}  // namespace paravane::cli
