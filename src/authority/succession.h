// Succession: the proof that an operator promoted another host to be the cluster's authority, the
// host that signs certificates. The proof is signed with the authority's key, which the promoted
// host also has. Every host can therefore verify it, no matter which host presents it.
//
// Each promotion has a number, its term, which is higher than the term of the previous promotion.
// If two hosts were promoted without knowledge of each other and have the same term, all hosts
// accept the host with the name that sorts last.
//
// The text is one line of JSON:
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
inline constexpr std::size_t kMaxEndpoints = 16;                      // of one etcd

struct Succession {
  Identity keeper;                // the host that has the authority
  std::uint64_t term = 0;         // 0: the host that created the cluster, which needs no proof
  std::string door;               // "192.0.2.2:28249"
  std::vector<std::string> etcd;  // "https://..."
  std::string before{};           // the door of the authority's previous host; empty: not known

  // Whether this succession replaces the other one.
  bool follows(const Succession& other) const {
    return term != other.term ? term > other.term : keeper.host > other.keeper.host;
  }

  friend bool operator==(const Succession&, const Succession&) = default;
};

// `key`: the key of the authority (PEM). REQUIRES: term > 0. Errors: kInvalidArgument (no key),
// kIo.
Result<std::string> print_succession(const Succession& succession, std::string_view key);
// `authority`: the certificate of the authority. Errors: kInvalidArgument (not signed by the
// authority, or malformed).
Result<Succession> parse_succession(std::string_view text, std::string_view authority);

}  // namespace paravane::authority
