// PathName names a path as it is shown to users: the transport ("local", "tcp" or "roce"), and the
// host to which the path leads.

#pragma once

#include <compare>
#include <string>

namespace paravane::worker {

struct PathName {
  std::string path;
  std::string host{};  // empty: this one

  friend auto operator<=>(const PathName&, const PathName&) = default;
};

}  // namespace paravane::worker
