// Succession: the proof that an operator promoted another host to be the cluster's authority. It is
// signed with the authority's key, which both the first and the promoted host have, so every host
// can verify it, no matter which host presents it.
//
// Each promotion has a term, which is higher than the one before. Two hosts that were promoted
// without knowledge of each other may have the same term: all hosts then accept the one with the
// greater name.
//
// Text, one line of JSON:
//   {"signature":"3045...","succession":"{\"cluster\":\"0d3f...\",\"door\":\"10.77.0.2:28249\",
//    \"etcd\":[\"https://10.77.0.2:2379\"],\"host\":\"h2\",\"term\":1}"}
//
// Stateless, any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "authority/identity.h"
#include "base/result.h"

namespace paravane::authority {

inline constexpr std::size_t kMaxSuccession = std::size_t{8} * 1024;  // bytes of its text
inline constexpr std::size_t kMaxEndpoints = 16;                      // of an etcd

struct Succession {
  Identity keeper;                // the host that has the authority
  std::uint64_t term = 0;         // 0: of the host that made the cluster, which needs no proof
  std::string door;               // "192.0.2.2:28249"
  std::vector<std::string> etcd;  // "https://..."
  std::string before{};           // the door of the host that had it; empty: it is not known

  // Whether it comes after that one.
  bool follows(const Succession& other) const {
    return term != other.term ? term > other.term : keeper.host > other.keeper.host;
  }

  friend bool operator==(const Succession&, const Succession&) = default;
};

// REQUIRES: term > 0. `key`: the authority's (PEM). Errors: kInvalidArgument (no key), kIo.
Result<std::string> print_succession(const Succession& succession, std::string_view key);
// `authority`: its certificate. Errors: kInvalidArgument (not signed by it, or odd).
Result<Succession> parse_succession(std::string_view text, std::string_view authority);

}  // namespace paravane::authority
