// The features of each release that other hosts of a cluster can notice, so that an operator sees
// what a host that was not upgraded yet lacks. A host reports its own version as text; a text that
// is not a version lacks no known feature.

#pragma once

#include <string_view>
#include <vector>

namespace paravane::model {

// "0.2.0" before "0.10.0". False if one of them is no version.
bool is_older_version(std::string_view a, std::string_view b);

// What hosts of that version lack of what this program knows, in the order of releases. Texts
// are constants.
std::vector<std::string_view> lacked_by(std::string_view version);

}  // namespace paravane::model
