// Identity: the cluster and host that a certificate belongs to. The certificate contains it as the
// URI paravane://CLUSTER/host/NAME in its subject alternative names. It has no common name, because
// etcd 3.4's gateway refuses client certificates that have one.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paravane::authority {

struct Identity {
  std::string cluster;  // 32 hex digits
  std::string host;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// The other end, as its certificate shows it. The name alone is not enough to know a machine: it
// may be used again.
struct Peer {
  Identity identity;
  std::string key;  // fingerprint of its public key, see Certificate

  friend bool operator==(const Peer&, const Peer&) = default;
};

std::string print_identity(const Identity& identity);
std::optional<Identity> parse_identity(std::string_view uri);

bool is_cluster_id(std::string_view text);

}  // namespace paravane::authority
