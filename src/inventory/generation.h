// Generation identifies a state of the cluster's configuration. The authority (the host that
// manages the cluster) increases the number with each change and adds a random mark. From these,
// another host can determine whether the state in etcd is later than the last state that it knows,
// was restored from an older copy, or has a different history.
//
// The generation is stored in the document config/cluster:
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

  std::uint64_t number = 0;          // 0: the authority is too old to count changes
  std::vector<std::string> marks{};  // of the last generations, the newest last; random
  std::uint64_t supersedes = 0;      // an operator discarded all other states up to this number

  // The mark of `number`; empty: there are no marks.
  std::string_view mark() const { return marks.empty() ? std::string_view() : marks.back(); }

  friend bool operator==(const Generation&, const Generation&) = default;
};

// What a host remembers of the newest generation that it has followed.
struct SeenGeneration {
  std::uint64_t number = 0;
  std::string mark;
  std::int64_t revision = 0;  // of etcd, that showed it
};

// The next one. `mark`: kMarkDigits random digits.
Generation next_generation(Generation before, std::string mark);
// A generation that is higher than every generation that the hosts may have seen. An operator has
// decided that the configuration of `before` is valid.
Generation accepted_generation(const Generation& before, std::string mark);

// Whether `offered` is `seen` or a later state in the same history.
bool continues(const Generation& offered, const SeenGeneration& seen);
// Explains to an operator why `offered` does not continue `seen`, with both generations and etcd's
// revisions. REQUIRES: !continues().
std::string why_not_continued(const Generation& offered, std::int64_t revision,
                              const SeenGeneration& seen);

nlohmann::json print_generation(const Generation& generation);
// Errors: kInvalidArgument.
Result<Generation> parse_generation(const nlohmann::json& value);

// The document. `cluster`: its id, `authority`: the host that has it.
std::string print_cluster(const std::string& cluster, const std::string& authority,
                          const Generation& generation);

}  // namespace paravane::inventory
