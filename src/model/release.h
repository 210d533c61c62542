// Lists the features of each release of Paravane that other hosts of a cluster can notice. From the
// list, an operator learns which features are missing on a host that has not been upgraded. A host
// reports its version as text. If the text is not a version, no feature is reported as missing.

#pragma once

#include <string_view>
#include <vector>

namespace paravane::model {

// Whether version `a` is older than `b`; "0.2.0" is older than "0.10.0". False if one of them is
// not a version.
bool is_older_version(std::string_view a, std::string_view b);

// Whether hosts of that version answer probes of routers (docs/roce.md). A text that is not a
// version: they do.
bool answers_probes(std::string_view version);

// The features of this program that hosts of that version lack, in the order of releases. The texts
// are string literals.
std::vector<std::string_view> lacked_by(std::string_view version);

}  // namespace paravane::model
