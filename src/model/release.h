// What came with which release, as far as hosts of a cluster notice it in one another: so that
// an operator reads what a host that was not upgraded yet lacks. A host's version is a text that
// the host says of itself; one that is no version lacks nothing that is known.

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
