// The messages of a join endpoint, the listener through which hosts join a cluster and query each
// other. A client sends a request as one line of JSON and receives a response as one line of JSON.
// docs/cluster.md shows examples.
//
// Requests come from unknown senders, so they are validated completely. Stateless, any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::authority {

inline constexpr std::size_t kMaxDoorLine = std::size_t{32} * 1024;
inline constexpr std::uint64_t kMaxDoorClock = 9'000'000'000;  // in seconds; the year 2255
// The highest generation of the configuration, as in inventory/generation.h. No host follows a
// higher one.
inline constexpr std::uint64_t kMaxDoorGeneration = std::uint64_t{1} << 53;

struct DoorRequest {
  enum class Kind : std::uint8_t {
    kJoin,       // with a token's id and secret, and a request for a certificate
    kRenew,      // with a request; the client's certificate identifies the host
    kLeave,      // identified as in kRenew
    kLogin,      // asks for another etcd password; identified as in kRenew
    kAuthority,  // asks which host was promoted last; identified as in kRenew
    kSucceeded,  // another host was promoted; with the proof, without a certificate
    kCompare,    // asks what differs in a configuration; with a token, which stays valid
  };
  Kind kind = Kind::kJoin;
  std::string token_id;
  std::string secret;
  std::string request;
  std::string succession{};  // authority/succession.h; for kSucceeded only
  // For kCompare only: the host's switches and port groups, under the names that they have below
  // config/ in etcd.
  std::map<std::string, std::string> documents{};
};
std::string print_request(const DoorRequest& request);
// Errors: kInvalidArgument.
Result<DoorRequest> parse_request(std::string_view line);

// The reasons for refusing a request that the requesting host must distinguish.
enum class DoorRefusal : std::uint8_t {
  kOther,
  kBusy,     // nothing was done; the same request may succeed in a moment
  kRemoved,  // the requesting host is not a member of the cluster any more
};

struct DoorAnswer {
  std::string problem{};  // not empty: refused; only `refusal` is set as well
  DoorRefusal refusal{};
  std::string host{};
  std::string certificate{};
  std::string authority{};
  // For the responses to kJoin and kLogin only.
  std::vector<std::string> etcd{};
  std::string etcd_authority{};  // PEM; empty: the cluster's own authority
  std::string etcd_user{};
  std::string etcd_password{};
  // For kAuthority only; empty: the host that created the cluster still has the authority.
  std::string succession{};
  // The authority's host, if the answering host sees that it is running; empty: it does not see
  // that, or its release does not report it.
  std::string sees{};
  // The clock of the answering host, in seconds since 1970; nullopt: its release does not report
  // it.
  std::optional<std::uint64_t> clock_s{};
  // The generation of the newest configuration that the answering host has followed; 0: it has
  // followed no configuration; nullopt: its release does not report it.
  std::optional<std::uint64_t> generation{};
  // For kCompare only: the names of the switches and port groups that differ.
  std::vector<std::string> other_switches{};
  std::vector<std::string> other_port_groups{};
};
std::string print_answer(const DoorAnswer& answer);
Result<DoorAnswer> parse_answer(std::string_view line);

}  // namespace paravane::authority
