// Generation: identifies a state of the cluster's configuration. The authority counts its changes
// and gives each a mark, so that a host can tell an etcd that was restored to an older state, or
// has another history, from one that has changed.
//
// It is stored in the document config/cluster:
//   {"authority":"h1","cluster":"0d3f...","generation":{"marks":["5f1c...",...],"number":18,"supersedes":0}}
//
// Any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::inventory {

struct Generation {
  static constexpr std::size_t kMostMarks = 256;
  static constexpr std::size_t kMarkDigits = 16;  // hexadecimal
  // A number that a double holds exactly: etcd's gateway and other readers of JSON keep it.
  static constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 53;

  std::uint64_t number = 0;          // 0: of an authority of an older version, which does not count
  std::vector<std::string> marks{};  // of the last ones, the newest last; random
  std::uint64_t supersedes = 0;      // an operator gave up what there was up to this number

  // Of `number`; empty: it has none.
  std::string_view mark() const { return marks.empty() ? std::string_view() : marks.back(); }

  friend bool operator==(const Generation&, const Generation&) = default;
};

// What a host keeps of the newest that it has followed.
struct SeenGeneration {
  std::uint64_t number = 0;
  std::string mark;
  std::int64_t revision = 0;  // of etcd, that showed it
};

// The next one. `mark`: kMarkDigits random digits.
Generation next_generation(Generation before, std::string mark);
// The next one, after all that hosts may have seen: an operator's word that `before` is to count.
Generation accepted_generation(const Generation& before, std::string mark);

// Whether `offered` is what `seen` has become, or the same.
bool continues(const Generation& offered, const SeenGeneration& seen);
// In an operator's words, with both generations and etcd's revisions; REQUIRES: !continues().
std::string why_not_continued(const Generation& offered, std::int64_t revision,
                              const SeenGeneration& seen);

nlohmann::json print_generation(const Generation& generation);
// Errors: kInvalidArgument.
Result<Generation> parse_generation(const nlohmann::json& value);

// The document. `cluster`: its id, `authority`: the host that has it.
std::string print_cluster(const std::string& cluster, const std::string& authority,
                          const Generation& generation);

}  // namespace paravane::inventory
