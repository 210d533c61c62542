// Identity: the cluster and the host that a certificate was issued for. The certificate contains
// them in its subject alternative names, as the URI paravane://CLUSTER/host/NAME. It has no common
// name, because the gateway of etcd 3.4 refuses client certificates that have one.
//
// Stateless, any thread.

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

// The host at the other end of a connection, as its certificate identifies it. The key is included
// because another machine may later have the same name.
struct Peer {
  Identity identity;
  std::string key;  // fingerprint of its public key, see Certificate::key

  friend bool operator==(const Peer&, const Peer&) = default;
};

std::string print_identity(const Identity& identity);
std::optional<Identity> parse_identity(std::string_view uri);

bool is_cluster_id(std::string_view text);

}  // namespace paravane::authority
