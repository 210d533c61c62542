// The requests and responses at a join endpoint, through which hosts join a cluster and query each
// other: one line of JSON in each direction. docs/cluster.md shows each of them. Requests come from
// unknown senders and are validated completely.

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
inline constexpr std::uint64_t kMaxDoorClock = 9'000'000'000;  // 2255, which clocks count to
// As inventory/generation.h has it; no host follows a higher one.
inline constexpr std::uint64_t kMaxDoorGeneration = std::uint64_t{1} << 53;

struct DoorRequest {
  enum class Kind : std::uint8_t {
    kJoin,       // with a token's id and secret, and a request for a certificate
    kRenew,      // with a request; the certificate that is shown says who asks
    kLeave,      // likewise
    kLogin,      // likewise: another password for etcd
    kAuthority,  // which host has the authority, if it was ever promoted; likewise
    kSucceeded,  // that another host has it now, with the proof; no certificate is needed
    kCompare,    // what of a host's configuration differs; with a token, which stays good
  };
  Kind kind = Kind::kJoin;
  std::string token_id;
  std::string secret;
  std::string request;
  std::string succession{};  // authority/succession.h; of kSucceeded alone
  // Of kCompare alone: the host's switches and port groups, by name as below config/ in etcd.
  std::map<std::string, std::string> documents{};
};
std::string print_request(const DoorRequest& request);
// Errors: kInvalidArgument.
Result<DoorRequest> parse_request(std::string_view line);

// Why a request is refused, as far as the host that asks acts on it.
enum class DoorRefusal : std::uint8_t {
  kOther,
  kBusy,     // nothing was done; the same request may be granted in a moment
  kRemoved,  // the host that asks is not a member of the cluster any more
};

struct DoorAnswer {
  std::string problem{};  // not empty: refused, and but for `refusal` the rest is not there
  DoorRefusal refusal{};
  std::string host{};
  std::string certificate{};
  std::string authority{};
  // Of a join and of a login alone.
  std::vector<std::string> etcd{};
  std::string etcd_authority{};  // PEM; empty: ours
  std::string etcd_user{};
  std::string etcd_password{};
  // Of kAuthority alone; empty: of the host that made the cluster.
  std::string succession{};
  // The authority's host, if the answering host sees it run; empty: it does not, or its release
  // does not say.
  std::string sees{};
  // The answering host's clock, in seconds since 1970; nullopt: its release does not say.
  std::optional<std::uint64_t> clock_s{};
  // The number of the newest configuration that the answering host has followed, 0: of none;
  // nullopt: its release does not say.
  std::optional<std::uint64_t> generation{};
  // Of kCompare alone, names.
  std::vector<std::string> other_switches{};
  std::vector<std::string> other_port_groups{};
};
std::string print_answer(const DoorAnswer& answer);
Result<DoorAnswer> parse_answer(std::string_view line);

}  // namespace paravane::authority
